"""Small wrong changes of a program: each makes a mutant, which some test should notice."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.RShift: ast.LShift,
}
CALLS = dict(
    pair
    for one, other in (
        ("all", "any"),
        ("min", "max"),
        ("minimum", "maximum"),
        ("argmin", "argmax"),
        ("zeros", "ones"),
        ("zeros_like", "ones_like"),
        ("floor", "ceil"),
        ("sum", "mean"),
        ("vstack", "hstack"),
    )
    for pair in ((one, other), (other, one))
)
DELETED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break)
# Sizes of pieces of work. Any size gives the same result, which tests of their own show.
SIZES = {"CALL", "FEW", "FEWEST", "WIDTH", "WORK"}


@dataclass(frozen=True)
class Mutant:
    """A file with one change."""

    path: str
    line: int
    last: int  # line of what is changed
    text: str  # of the first
    before: str
    after: str
    source: bytes

    @property
    def module(self) -> str:
        """The file or folder of the package that it is in."""
        return Path(self.path).parts[2].removesuffix(".py")

    def __str__(self) -> str:
        where = f"  in  {self.text}" if len(self.before) < len(self.text) else ""
        return f"{self.path}:{self.line}: {self.before} → {self.after}{where}"


def mutants_of(path: str, source: bytes) -> list[tuple[str, Mutant]]:
    """All mutants of a file, each with a key that changes elsewhere in the file leave as it is."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    seen: Counter[str] = Counter()
    found = []
    for node, after in _changes(ast.parse(source)):
        before = ast.unparse(node)
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        text = after if isinstance(node, ast.stmt) else f"({after})"
        mutated = source[:begin] + text.encode() + source[end:]
        change = f"{path}: {before} → {after}"
        seen[change] += 1
        key = sha256(f"{change} {seen[change]}".encode()).hexdigest()
        line = lines[node.lineno - 1].decode().strip()
        last = node.end_lineno or node.lineno
        found.append((key, Mutant(path, node.lineno, last, line, before, after, mutated)))
    return found


def _changes(node: ast.AST) -> Iterator[tuple[Any, str]]:
    """Nodes and what is put in their place, in a tree without what only people read."""
    for changed in _changes_of(node):
        yield node, ast.unparse(changed) if isinstance(changed, ast.AST) else changed
    for child in _children(node):
        yield from _changes(child)


def _children(node: ast.AST) -> list[ast.AST]:
    children = list(ast.iter_child_nodes(node))
    unread: list[Any] = []
    match node:
        case ast.FunctionDef():
            unread = [*node.decorator_list, node.returns]
            if any(ast.unparse(each) == "abstractmethod" for each in node.decorator_list):
                return []
        case ast.ClassDef():
            unread = node.decorator_list
        case ast.arg() | ast.AnnAssign():
            unread = [node.annotation]
        case ast.Assign(targets=[ast.Name(id=name)]) if name in SIZES or name == "__all__":
            return []
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return []
        # Messages are written for people; asserts inside narrow types.
        case ast.Raise() | ast.JoinedStr() | ast.Assert():
            return []
        # zip(strict=True) is an assert by another name.
        case ast.keyword(arg="strict"):
            return []
        case ast.UnaryOp(operand=ast.Constant()):
            return []
    return [child for child in children if all(child is not each for each in unread)]


def _changes_of(node: ast.AST) -> Iterator[ast.AST | str]:
    match node:
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                for other in COMPARISONS[type(operator)]:
                    yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield _with(node, op=ARITHMETIC[type(node.op)]())
        case ast.AugAssign() if type(node.op) in ARITHMETIC:
            yield _with(node, op=ARITHMETIC[type(node.op)]())
        case ast.BoolOp():
            yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp():
            yield node.operand
        case ast.Constant(value=bool()):
            yield repr(not node.value)
        case ast.Constant(value=int()):
            yield repr(node.value + 1)
            yield repr(node.value - 1)
        case ast.Constant(value=float()):
            yield repr(node.value + 1)
        case ast.Call(func=ast.Attribute(attr=name)) if name in CALLS:
            yield _with(node, func=_with(node.func, attr=CALLS[name]))
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield _with(node, func=ast.Name(CALLS[name]))
        case ast.Call(func=ast.Attribute(attr="where"), args=[condition, one, other]):
            yield _with(node, args=[condition, other, one])
    if isinstance(node, DELETED) or _changes_something(node):
        yield "pass"
    # The condition itself is the place of the change, not the whole statement. Comparisons and
    # what is negated already have their negation above.
    if getattr(node, "decides", False) and not isinstance(node, (ast.Compare, ast.UnaryOp)):
        yield ast.UnaryOp(ast.Not(), node)
    for condition in _conditions(node):
        condition.decides = True  # type: ignore[attr-defined]


def _changes_something(node: ast.AST) -> bool:
    """Whether a statement may be left out, and names that are used later are still there."""
    match node:
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            return True
        case ast.Expr(value=ast.Call()):
            return True
    return False


def _conditions(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return []
        case ast.If() | ast.IfExp() | ast.While():
            return [node.test]
        case ast.comprehension():
            return node.ifs
    return []


def _with(node: Any, **changes: Any) -> Any:
    other = copy(node)
    for name, value in changes.items():
        setattr(other, name, value)
    return other
