"""Checks of single arguments. Each raises a ConfigError of one sentence that names the argument and its value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.types.encoding import finite_number

OURS = ("messages", "model", "stream", "n", "api_key")
"""Request parameters that only calipers sets: another value would change the question, or the form of the answer."""
LITELLM_NAMES: Final[dict[str, str]] = {
    "api_base": "base_url",
    "request_timeout": "timeout",
    "num_retries": "attempts",
    "max_retries": "attempts",
    "max_completion_tokens": "max_tokens",
    "max_parallel_requests": "concurrency",
}
"""LiteLLM's names for options of a judge."""
_OPTIONS: Final = (
    LITELLM_NAMES
    | {"extra_headers": "headers"}
    | {name: name for name in ("base_url", "headers", "max_tokens", "timeout")}
)
"""What is no request parameter here, with the option that does the same."""


def _check(holds: Callable[[Any], bool], must: str) -> Callable[..., None]:
    """Return a check that raises ConfigError unless each of a user's options or arguments is None or right."""

    def require(**values: object) -> None:
        for name, value in values.items():
            if value is not None and not holds(value):
                raise ConfigError(f"{name}={value!r}: it must be {must}")

    return require


require_whole = _check(lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number")
require_above_zero = _check(lambda value: (finite_number(value) or 0) > 0, "a number above 0")
require_callable = _check(callable, "a function")
require_text = _check(lambda value: isinstance(value, str), "text")


def require_share_of_groups(share: object) -> None:
    """Raise ConfigError unless a user's argument ``share`` is a number above 0 and at most 1."""
    number = finite_number(share)
    if number is None or not 0 < number <= 1:
        raise ConfigError(f"share={share!r}: it must be a share of the groups, above 0 and at most 1")


def require_one_of(known: Sequence[str], **choices: object) -> None:
    """Raise ConfigError unless each of a user's options or arguments is one of the ``known`` words."""
    for name, value in choices.items():
        if value not in known:
            raise ConfigError(f"{name}={value!r}: it must be one of {', '.join(known)}")


def require_range(name: str, value: object) -> None:
    """Raise ConfigError unless the option or argument ``name`` is two finite numbers, the lower one first."""
    match value:
        case (low, high) if (bottom := finite_number(low)) is not None and (top := finite_number(high)) is not None:
            if bottom < top and finite_number(top - bottom) is not None:
                return
    raise ConfigError(f"{name}={value!r}: it must be two numbers, the lower one first")


def require_weights(name: str, value: object) -> None:
    """Raise ConfigError unless the option ``value`` is a list of finite numbers."""
    if not isinstance(value, list | tuple) or None in map(finite_number, value):
        raise ConfigError(f"{name}={value!r}: it must be a list of numbers, one for each judge, such as [2, 1, 1]")


def require_params(name: str, value: object) -> None:
    """Raise ConfigError unless the option ``value`` maps names of request parameters to values that JSON can express.

    Parameters that calipers sets itself, such as ``messages``, are refused.
    """
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{name}={value!r}: it must be a mapping of parameter names to values")
    if reserved := [key for key in OURS if key in value]:
        raise ConfigError(f"{name}: leave out {', '.join(reserved)}, which calipers sets itself")
    if options := [key for key in _OPTIONS if key in value]:
        raise ConfigError(f"{name}: {options[0]} has an option of its own: use {_OPTIONS[options[0]]}= instead")
    try:
        json.dumps(dict(value), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}={value!r} cannot be written as JSON: {error}") from error


def require_watchers(name: str, value: object) -> None:
    """Raise ConfigError unless ``value`` is a list of objects that may watch judging: by a method, or as functions."""
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{name}={value!r}: it must be a list of watchers, such as [Monitor()]")
    for item in value:
        sees = (getattr(item, "seen", None), getattr(item, "observe", None), item)
        if isinstance(item, type) or not any(map(callable, sees)):
            raise ConfigError(f"{name}: {item!r} is not a watcher, such as Monitor(): it has no method seen or observe")


def require_headers(name: str, value: object) -> None:
    """Raise ConfigError unless ``value`` can be a judge's option ``headers``: texts by name, or by judge and name."""
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        texts = [isinstance(text, str) for text in value.values()]
        if all(texts):
            return
        if not any(texts):
            for text in value.values():
                if text is not None:
                    require_headers(name, text)
            return
    raise ConfigError(f"{name}: write {{'X-Team': 'search'}}, or one such mapping for each judge's name")
