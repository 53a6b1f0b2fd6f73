"""Build verifiers from plain data: ``{"regex": {"pattern": "..."}}`` in TOML or JSON becomes a verifier.

``registry`` knows the names of verifiers.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from calipers import registry
from calipers.errors import ConfigError
from calipers.interfaces import Verifier

_DEEPEST: Final = 20
_TYPES: Final[Mapping[str, tuple[Any, str]]] = {
    "str": (str, "text"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "bool": (bool, "true or false"),
    "None": (type(None), ""),
}
"""Annotations of a verifier's arguments, as text, with the types that they allow and how a message names these."""


def verifier_from(spec: object, *, depth: int = 0) -> Verifier:
    """Return the verifier that ``{name: {argument: value, ...}}`` describes; a name alone has no arguments.

    ``{"all_of": [spec, ...]}``, ``{"any_of": [...]}`` and ``{"not": spec}`` combine verifiers. Raises ConfigError
    naming the unknown or wrong part of ``spec``.
    """
    name, arguments = _parts(spec)
    if depth > _DEEPEST:
        raise ConfigError(f"verifiers are nested more than {_DEEPEST} levels deep; use fewer levels")
    make = registry.VERIFIERS.find(name)
    if name in ("all_of", "any_of", "not"):
        parts = (arguments,) if name == "not" else arguments
        if isinstance(parts, str) or not isinstance(parts, Sequence):
            raise ConfigError(f"{name}: give a list of verifiers")
        combined: Verifier = make(*(verifier_from(part, depth=depth + 1) for part in parts))
        return combined
    if not isinstance(arguments, Mapping):
        raise ConfigError(f"{name}: give its arguments by name, as in {{{name!r}: {{...}}}}")
    return _built(name, make, {str(key): value for key, value in arguments.items()})


def _parts(spec: object) -> tuple[str, Any]:
    match spec:
        case str():
            return spec, {}
        case Mapping() if len(spec) == 1:
            ((name, arguments),) = spec.items()
            return str(name), arguments
    raise ConfigError(f"a verifier is a name, or one name with its arguments as {{name: {{...}}}}, not {spec!r:.80}")


def _built(name: str, make: Callable[..., Verifier], arguments: dict[str, Any]) -> Verifier:
    known = [parameter for parameter in inspect.signature(make).parameters if parameter != "sandbox"]
    if name == "code_tests":
        arguments = {**arguments, "cases": _cases(arguments.get("cases"))}
    for argument in arguments:
        if argument not in known:
            near = difflib.get_close_matches(argument, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise ConfigError(f"{name}: unknown argument {argument!r}; {hint}")
    # A verifier must be hashable and immutable, so lists from a file become tuples.
    arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
    _require_types(name, make, arguments)
    try:
        return make(**arguments)
    except TypeError as error:
        raise ConfigError(f"{name}: {str(error).partition(') ')[2] or error}".replace(" positional", "")) from None


def _cases(cases: Any) -> tuple[Any, ...]:
    """Return the test cases of ``code_tests`` in a rules file: objects with ``function``, ``arguments`` and
    ``expected``, or ``stdin`` and ``stdout``; or assert lines as one text.
    """
    from calipers.verifiers.code import Call, Run, cases_from_asserts  # noqa: PLC0415 - it loads the sandbox

    if isinstance(cases, str):
        return cases_from_asserts(cases)
    if not isinstance(cases, list | tuple) or not cases:
        raise ConfigError("code_tests: cases must be a list of objects, or assert lines as text")
    read: list[Any] = []
    for place, case in enumerate(cases):
        match case:
            case {"function": str(function), "arguments": list(arguments) | tuple(arguments), "expected": expected}:
                read.append(Call(function, tuple(arguments), expected))
            case {"stdin": str(stdin), "stdout": str(stdout)}:
                read.append(Run(stdin, stdout))
            case _:
                raise ConfigError(
                    f"code_tests: cases[{place}]: give it function, arguments and expected, or stdin and stdout"
                )
    return tuple(read)


def _require_types(name: str, make: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise ConfigError for a value that its plain type in the signature of ``make`` does not allow.

    Text, numbers and booleans are checked. A verifier checks its other arguments itself.
    """
    for argument, value in arguments.items():
        stated = str(inspect.signature(make).parameters[argument].annotation).split(" | ")
        allowed = [_TYPES[plain] for plain in stated if plain in _TYPES]
        if len(allowed) < len(stated) or (value is None and "None" in stated):
            continue
        # True is no number
        if not any(isinstance(value, kind) and (kind is bool) == isinstance(value, bool) for kind, _ in allowed):
            words = " or ".join(word for _, word in allowed if word)
            raise ConfigError(f"{name}: {argument} must be {words}, not {value!r:.60}")
