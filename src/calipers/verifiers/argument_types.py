"""Check the types of a verifier's arguments that come from a file, before the verifier is built.

Only plain types are checked: text, numbers, booleans and fixed words. A verifier checks its other arguments itself.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from calipers.errors import ConfigError

_WORDS: Final[Mapping[object, str]] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def require_types(name: str, make: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise ConfigError for a value in ``arguments`` that fits no type in the signature of the verifier ``make``."""
    stated = get_type_hints(make)
    for argument, value in arguments.items():
        allowed = _plain(stated.get(argument))
        if allowed is not None and not any(_is(value, one) for one in allowed):
            words = [_WORDS.get(one, repr(one)) for one in allowed if one is not type(None)]
            raise ConfigError(f"{name}: {argument} must be {' or '.join(words)}, not {value!r:.60}")


def _plain(stated: Any) -> tuple[Any, ...] | None:
    """Return the plain types and the fixed words that an annotation allows, or None if it allows any other type."""
    parts = get_args(stated) if get_origin(stated) in (types.UnionType, Union) else (stated,)
    allowed: list[Any] = []
    for part in parts:
        if get_origin(part) is Literal:
            allowed += get_args(part)
        elif part in _WORDS or part is type(None):
            allowed.append(part)
        else:
            return None
    return tuple(allowed)


def _is(value: Any, allowed: Any) -> bool:
    if not isinstance(allowed, type):
        return type(value) is type(allowed) and bool(value == allowed)
    if isinstance(value, bool):
        return allowed is bool
    return isinstance(value, (int, float) if allowed is float else allowed)
