import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyflag.batches import WORK, batch_size, batches

COUNTS = st.integers(0, 300)


@given(n=COUNTS, each=COUNTS, most=COUNTS, fewest=st.integers(1, 20))
def test_batches_cover_everything_once_and_none_is_too_large(n, each, most, fewest):
    cut = list(batches(n, each, most, fewest))
    assert [i for some in cut for i in range(some.start, some.stop)] == list(range(n))
    for some in cut:
        size = some.stop - some.start
        assert size <= fewest or size * each <= most


@pytest.mark.parametrize(
    ("each", "most", "fewest", "size"),
    [
        (3, 7, 1, 2),
        (8, 7, 1, 1),
        (0, 7, 1, 7),
        (8, 7, 5, 5),
        (WORK, None, 1, 1),
        (1, None, 1, WORK),
    ],
)
def test_as_many_as_fit(each, most, fewest, size):
    assert batch_size(each, most, fewest) == size
