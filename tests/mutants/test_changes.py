import ast

import pytest

from tests.mutants.changes import mutants_of


def changes(source):
    return {f"{mutant.before} → {mutant.after}" for _, mutant in mutants_of("a/b/c.py", source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            b"converged[rows] &= arrived",
            {"converged[rows] &= arrived → converged[rows] |= arrived"},
        ),
        (b"np.all(known)", {"np.all(known) → np.any(known)"}),
        (b"max(a)", {"max(a) → min(a)"}),
        (b"a < b", {"a < b → a <= b", "a < b → a >= b"}),
        (b"a and b", {"a and b → a or b"}),
        (b"x = ~a", {"~a → a"}),
        (b"x = 3", {"3 → 4", "3 → 2"}),
        (b"x = 0.5", {"0.5 → 1.5"}),
        (b"x = True", {"True → False"}),
        (b"np.where(a, b, c)", {"np.where(a, b, c) → np.where(a, c, b)"}),
        (b"if a:\n    raise E(f'{b + 1}')", {"a → not a", "raise E(f'{b + 1}') → pass"}),
        (b"x = [i for i in a if i]", {"i → not i"}),
    ],
)
def test_what_is_changed(source, expected):
    assert expected <= changes(source)


@pytest.mark.parametrize(
    "source",
    [
        b'"""Text, 1 + 1."""',
        b"def f(a: int | None) -> B | C: ...",
        b"CALL = 2**17",
        b"if TYPE_CHECKING:\n    import a",
        b"@cache(maxsize=4)\ndef f(a): ...",
        b"class A:\n    @abstractmethod\n    def f(self):\n        return 1 + 1",
        b"assert a is not None",
        b"x = zip(a, b, strict=True)",
        b"x = f'{a + 1}'",
    ],
)
def test_what_only_people_or_type_checkers_read_is_left_alone(source):
    assert changes(source) == set()


def test_a_mutant_is_the_file_with_one_change():
    source = "# Σ comes first\ny = (a +\n     b) * φ  # kept\nz = 1\n".encode()
    found = {str(mutant): mutant.source.decode() for _, mutant in mutants_of("a/b/c.py", source)}
    before, after = "(a + b) * φ", "(a + b) / φ"
    changed = found[f"a/b/c.py:2: {before} → {after}"]
    assert changed == "# Σ comes first\ny = ((a + b) / φ)  # kept\nz = 1\n"
    for text in found.values():
        ast.parse(text)


def test_a_key_stays_when_other_lines_change():
    before = {str(mutant): key for key, mutant in mutants_of("c.py", b"x = a < b\n")}
    after = {str(mutant): key for key, mutant in mutants_of("c.py", b"x = a < b\ny = c + d\n")}
    assert before.items() <= after.items()


def test_equal_changes_of_one_file_have_keys_of_their_own():
    keys = [key for key, _ in mutants_of("c.py", b"x = a < b\nx = a < b\n")]
    assert len(set(keys)) == 4
