import os

import pytest

from kernels import chosen, features, kernels_in_use

OLD, USUAL = {"SSE42"}, {"SSE42", "AVX2", "FMA3"}
NEW = USUAL | {"AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL"}


@pytest.mark.parametrize(
    ("by_itself", "there", "others"),
    [
        (["SkylakeX"], NEW, ["Haswell", "Nehalem"]),
        (["SapphireRapids"], NEW, ["SkylakeX", "Nehalem"]),
        (["Zen"], USUAL, ["Haswell", "Nehalem"]),
        (["Haswell"], USUAL, ["Nehalem"]),
        (["Nehalem"], OLD, []),
        (["SapphireRapids"], NEW - {"AVX512VL"}, ["Haswell", "Nehalem"]),
    ],
)
def test_kernels_are_those_that_the_processor_has_and_does_not_take_by_itself(
    by_itself, there, others
):
    assert chosen(by_itself, there) == others


def test_the_kernel_that_is_asked_for_is_in_use():
    """Or else a run under another kernel would be one under the same."""
    by_itself = kernels_in_use(dict(os.environ))
    if not by_itself:
        pytest.skip("NumPy and SciPy have another BLAS than OpenBLAS")
    for kernel in chosen(by_itself, features()):
        assert kernels_in_use(os.environ | {"OPENBLAS_CORETYPE": kernel}) == [kernel]
