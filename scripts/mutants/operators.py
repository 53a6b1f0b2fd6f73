"""The small changes that make a mutant of a file, as replacements of one syntax node by another.

Left out, because no test should hold them: docstrings, annotations, decorators, ``__all__``, imports, the contents of
strings (messages, prompts, patterns, keys), what stands inside an f-string, and the arguments of a raised error. Nor
can a test hold what only says that something never happens: ``strict=`` of ``zip``, and ``raise AssertionError``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_FUNCTIONS = {"min": "max", "any": "all", "floor": "ceil"}
_METHODS = {
    "startswith": "endswith",
    "lstrip": "rstrip",
    "removeprefix": "removesuffix",
    "find": "rfind",
    "index": "rindex",
    "partition": "rpartition",
    "split": "rsplit",
    "lower": "upper",
    "union": "intersection",
}
_FUNCTIONS |= {other: one for one, other in _FUNCTIONS.items()}
_METHODS |= {other: one for one, other in _METHODS.items()}
_REMOVED = (ast.AugAssign, ast.Delete, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Site:
    """One possible mutation: ``old`` becomes ``new`` at ``field`` (and ``index``) of ``parent``.

    ``statement`` is the innermost statement around it, ``place`` the dotted name of the function or class around that.
    ``names`` is empty inside a function; for what runs at import, it is the names by which tests reach it.
    """

    parent: ast.AST
    field: str
    index: int | None
    old: ast.AST
    new: ast.AST
    statement: ast.stmt
    place: str
    names: tuple[str, ...]

    def apply(self) -> None:
        """Change the tree that the site was found in."""
        ast.copy_location(self.new, self.old)
        if self.index is None:
            setattr(self.parent, self.field, self.new)
        else:
            getattr(self.parent, self.field)[self.index] = self.new

    @property
    def before(self) -> str:
        return _text(self.old)

    @property
    def after(self) -> str:
        return _text(self.new)


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def sites(tree: ast.Module) -> Iterator[Site]:
    """All mutations of a module, always in the same order."""
    yield from _walk(tree, None, _Scope())


@dataclass(frozen=True)
class _Scope:
    place: tuple[str, ...] = ()
    in_function: bool = False

    def inside(self, node: ast.AST) -> _Scope:
        """The scope of what stands below ``node``; a function's defaults belong to the scope it is defined in."""
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            return _Scope((*self.place, node.name), self.in_function)
        return self

    def names(self, statement: ast.stmt) -> tuple[str, ...]:
        if self.in_function:
            return ()
        bound = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and _is_stored(each)}
        return tuple(sorted(bound)) + self.place[-1:]


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _walk(node: ast.AST, statement: ast.stmt | None, scope: _Scope) -> Iterator[Site]:
    scope = scope.inside(node)
    for parent, field, index, child in _children(node):
        below = scope
        if field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            below = _Scope(scope.place, in_function=True)
        inside = child if isinstance(child, ast.stmt) else statement
        if inside is not None:
            place, names = ".".join(below.place), below.names(inside)
            replacements = list(_replacements(child))
            if isinstance(child, ast.expr) and _is_test(node, field):
                replacements.append(ast.UnaryOp(ast.Not(), child))
            for new in replacements:
                yield Site(parent, field, index, child, new, inside, place, names)
        yield from _walk(child, inside, below)


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "bases", "type_params"}:
            continue
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _name(node.func) == "isinstance"):
            continue
        if isinstance(value, ast.AST):
            if not _is_left_out(value):
                yield node, field, None, value
        elif isinstance(value, list):
            for index, each in enumerate(value):
                if isinstance(each, ast.AST) and not _is_left_out(each):
                    yield node, field, index, each


def _is_left_out(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.expr_context() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.keyword(arg="strict") | ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")) | ast.Call(func=ast.Name(id="cast" | "TypeVar")):
            return True
    return False


def _is_test(parent: ast.AST, field: str) -> bool:
    """Whether the node is a condition; comparisons and ``not`` are reversed by their own rules instead."""
    if field == "test" and isinstance(parent, ast.If | ast.While | ast.IfExp):
        return not isinstance(getattr(parent, field), ast.Compare | ast.UnaryOp)
    if field == "ifs" and isinstance(parent, ast.comprehension):
        return not any(isinstance(each, ast.Compare | ast.UnaryOp) for each in parent.ifs)
    return False


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant():
            yield from (ast.Constant(value) for value in _other_values(node.value))
        case ast.Call():
            yield from _calls(node)
        case ast.Slice():
            if node.lower is not None:
                yield ast.Slice(None, node.upper, node.step)
            if node.upper is not None:
                yield ast.Slice(node.lower, None, node.step)
        case ast.stmt():
            yield from _statements(node)
        case _:
            yield from _operations(node)


def _operations(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            for index, one in enumerate(node.ops):
                if (other := _COMPARISONS.get(type(one))) is not None:
                    yield ast.Compare(node.left, [*node.ops[:index], other(), *node.ops[index + 1 :]], node.comparators)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            pass  # the number is changed instead
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.BinOp():
            if type(node.op) in _ARITHMETIC and not (_is_text(node.left) or _is_text(node.right)):
                yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)


def _other_values(value: object) -> Iterator[bool | int | float]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        yield value - 1
    elif isinstance(value, float):
        yield value * 2 if value else 1.0
        if value:
            yield value / 2


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    match node.func:
        case ast.Name(id=name) if name in _FUNCTIONS and node.args:
            yield ast.Call(ast.Name(_FUNCTIONS[name], ast.Load()), node.args, node.keywords)
        case ast.Attribute(attr="split" | "rsplit") if len(node.args) + len(node.keywords) < 2:
            pass  # without a limit the two are the same
        case ast.Attribute(value=value, attr=name) if name in _METHODS | _FUNCTIONS:
            other = ast.Attribute(value, (_METHODS | _FUNCTIONS)[name], ast.Load())
            yield ast.Call(other, node.args, node.keywords)
        case ast.Attribute(value=value, attr="strip"):
            yield ast.Call(ast.Attribute(value, "rstrip", ast.Load()), node.args, node.keywords)
    if _name(node.func) in {"sorted", "sort", "min", "max"}:
        kept = [one for one in node.keywords if one.arg not in {"key", "reverse"}]
        if len(kept) < len(node.keywords):
            yield ast.Call(node.func, node.args, kept)
    if _name(node.func) in {"sorted", "sort"} and not any(one.arg == "reverse" for one in node.keywords):
        backwards = ast.keyword("reverse", ast.Constant(value=True))
        yield ast.Call(node.func, node.args, [*node.keywords, backwards])


def _statements(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Return(value=ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()) as value):
            yield ast.Return(ast.UnaryOp(ast.Not(), value))
        case ast.Return(value=ast.Constant(value=None | True | False) | None):
            pass
        case ast.Return():
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            yield ast.AugAssign(node.target, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.value)
            yield ast.Pass()
        case ast.Expr(value=ast.Call() | ast.Await() | ast.Yield()):
            yield ast.Pass()
        case ast.Assign(targets=[target]) if not isinstance(target, ast.Name | ast.Tuple):
            yield ast.Pass()  # a name that is never bound would fail any test
        case _ if isinstance(node, _REMOVED):
            yield ast.Pass()
