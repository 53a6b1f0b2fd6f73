"""Plain Python data as JSON and back, types and all: arguments going into the sandbox, values coming out.

Pure, and safe on what foreign code wrote: nothing is looked up, called or built but the types named here.
"""

from __future__ import annotations

from typing import Any, Final

_DEEPEST: Final = 50
_SEQUENCES: Final = {"tuple": tuple, "set": set, "frozenset": frozenset}


class UnplainError(Exception):
    """Not plain data; the text says which type."""


def encoded(value: Any, depth: int = 0) -> Any:
    """``value`` as JSON can hold it: by exact type, objects being tags. Raises UnplainError for all other types."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if depth > _DEEPEST:
        raise UnplainError("a value nested too deeply")
    if kind is list:
        return [encoded(item, depth + 1) for item in value]
    if kind is dict:
        return {"dict": [[encoded(key, depth + 1), encoded(item, depth + 1)] for key, item in value.items()]}
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [encoded(item, depth + 1) for item in value]}
    raise UnplainError(f"a value of type {kind.__name__}")


def decoded(value: Any, depth: int = 0) -> Any:
    """What ``encoded`` made of it. Raises UnplainError for what it cannot have made."""
    if depth > 2 * _DEEPEST:
        raise UnplainError("a value nested too deeply")
    match value:
        case list():
            return [decoded(item, depth + 1) for item in value]
        case dict() if len(value) == 1:
            ((tag, items),) = value.items()
            return _tagged(tag, items, depth)
        case dict():
            raise UnplainError("an object without a tag")
    return value


def _tagged(tag: str, items: Any, depth: int) -> Any:
    if not isinstance(items, list):
        raise UnplainError("a tag without items")
    try:
        if tag in _SEQUENCES:
            return _SEQUENCES[tag](decoded(item, depth + 1) for item in items)
        if tag == "dict":
            return {decoded(key, depth + 1): decoded(item, depth + 1) for key, item in items}
    except (TypeError, ValueError):
        raise UnplainError(f"a {tag} that cannot be one") from None
    raise UnplainError("an unknown tag")
