import pytest

from whyflag.games.base import room, tiles


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 2598), (50, 2382), (2, 100_000), (9, 3000)])
@pytest.mark.parametrize(("d", "points"), [(3, 1), (30, 8), (274, 1), (274, 8), (300, 5000)])
def test_the_points_of_every_tile_have_room(n, m, d, points):
    cut = list(tiles(n, m, d, points))
    size = [(rows.stop - rows.start) * (some.stop - some.start) for rows, some in cut]
    assert sum(size) == n * m
    assert max(size) * points * d <= room(d, points).size
