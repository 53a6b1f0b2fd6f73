"""Pages of the API, one for each part that a user imports from, with the names that it exports.

``pages`` are for mkdocstrings; ``texts`` are the same as plain Markdown, for coding assistants.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from types import ModuleType
from typing import Any, Final

MODULES: Final = {
    "calipers": "Judges, groups, results",
    "calipers.config": "Options of a judge; [options](../options.md) says what each one means",
    "calipers.inputs": "Reading groups and rubrics",
    "calipers.types": "Plain data",
    "calipers.errors": "Errors",
    "calipers.replies": "Reading replies",
    "calipers.rubric": "Rubrics and grading",
    "calipers.verifiers": "Verifiers",
    "calipers.verifiers.ifeval": "IFEval",
    "calipers.calibration": "Calibration",
    "calipers.doctor": "Doctor",
    "calipers.distilling": "Judges made from a ledger",
    "calipers.ledger": "The ledger",
    "calipers.report": "Reports",
    "calipers.monitoring.monitor": "Health of judges",
    "calipers.server": "Clients of the server",
    "calipers.ray": "Judging on a Ray cluster",
    "calipers.testing": "Judges with known faults, for tests",
    "calipers.trainers.agent_lightning": "Agent-Lightning",
    "calipers.trainers.areal": "AReaL",
    "calipers.trainers.art": "ART",
    "calipers.trainers.easyr1": "EasyR1",
    "calipers.trainers.ms_swift": "ms-swift",
    "calipers.trainers.nemo_gym": "NeMo-Gym",
    "calipers.trainers.nemo_rl": "NeMo-RL",
    "calipers.trainers.openrlhf": "OpenRLHF",
    "calipers.trainers.skyrl": "SkyRL",
    "calipers.trainers.slime": "slime",
    "calipers.trainers.tinker": "tinker-cookbook",
    "calipers.trainers.trl": "TRL",
    "calipers.trainers.verifiers": "verifiers",
}


def pages() -> Iterator[tuple[str, str]]:
    """The path on the site and the text of every page."""
    rows = "".join(f"| [`{module}`]({module}.md) | {title} |\n" for module, title in MODULES.items())
    yield (
        "reference/index.md",
        (
            "# Reference of the API\n\n"
            "What each part of the package exports, with its arguments and types, from the source. Other parts are "
            "internal, or need a trainer to be imported: [its page](../trainers/index.md) says what to use.\n\n"
            f"| import from | what it is about |\n|---|---|\n{rows}"
        ),
    )
    for module, title in MODULES.items():
        names = "".join(f"::: {_home(module, name)}\n\n" for name in _exported(module))
        yield f"reference/{module}.md", f"# {module}\n\n{title}.\n\n{names}"


def texts() -> Iterator[tuple[str, str]]:
    """The path and the text of every page, with signatures and docstrings."""
    yield from islice(pages(), 1)
    for module, title in MODULES.items():
        home = import_module(module)
        parts = (_text(getattr(home, name), f"{module}.{name}") for name in _exported(module))
        yield f"reference/{module}.md", "\n\n".join((f"# {module}", f"{title}.", *parts)) + "\n"


def _text(value: Any, path: str) -> str:
    """The signature and docstring of a function or class, and of the public methods that the class defines."""
    found = [f"## {path}", f"```python\n{path.rpartition('.')[2]}{_signature(value)}\n```", inspect.getdoc(value) or ""]
    methods = vars(value).items() if inspect.isclass(value) else ()
    for name, method in methods:
        if not name.startswith("_") and inspect.isroutine(method) and (doc := inspect.getdoc(method)):
            found += [f"### {name}", f"```python\n{name}{_signature(getattr(value, name))}\n```", doc]
    return "\n\n".join(filter(None, found))


def _signature(value: Any) -> str:
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):  # a protocol, or an alias of a type
        return ""
    given = [one.replace(annotation=_plain(one.annotation)) for one in found.parameters.values()]
    return str(found.replace(parameters=given, return_annotation=_plain(found.return_annotation)))


class _Plain(str):
    """An annotation that is shown without the quotes of a text."""

    __slots__ = ()
    __repr__ = str.__str__


def _plain(annotation: Any) -> Any:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def exported() -> Iterator[tuple[str, object]]:
    """The path and the object of every name of the reference."""
    for module in MODULES:
        for name in _exported(module):
            yield _home(module, name), getattr(import_module(module), name)


def _exported(module: str) -> list[str]:
    home = import_module(module)
    names = getattr(home, "__all__", None) or [
        name
        for name in dir(home)
        if not name.startswith("_")
        and ("__dir__" in vars(home) or getattr(getattr(home, name), "__module__", None) == module)
    ]
    return sorted(filter(lambda name: _documented(getattr(home, name)), names), key=lambda name: _rank(home, name))


def _rank(home: ModuleType, name: str) -> tuple[int, str]:
    """Functions first, then classes, then errors; each by name."""
    value = getattr(home, name)
    return (2 if inspect.isclass(value) and issubclass(value, BaseException) else int(inspect.isclass(value)), name)


def _documented(value: object) -> bool:
    return (inspect.isclass(value) or inspect.isroutine(value)) and value.__module__.startswith("calipers")


def _home(module: str, name: str) -> str:
    return f"{getattr(import_module(module), name).__module__}.{name}"
