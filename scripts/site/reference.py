"""Pages of the API, for mkdocstrings: one for each part that a user imports from, with the names that it exports."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Final

MODULES: Final = {
    "calipers": "Judges, groups, results",
    "calipers.config": "Options of a judge",
    "calipers.inputs": "Reading groups and rubrics",
    "calipers.replies": "Reading replies",
    "calipers.rubric": "Rubrics and grading",
    "calipers.verifiers": "Verifiers",
    "calipers.calibration": "Calibration",
    "calipers.doctor": "Doctor",
    "calipers.ledger": "The ledger",
    "calipers.report": "Reports",
    "calipers.testing": "Judges with known faults, for tests",
    "calipers.types": "Plain data",
    "calipers.errors": "Errors",
    "calipers.trainers.trl": "TRL",
    "calipers.trainers.openrlhf": "OpenRLHF",
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


def _exported(module: str) -> list[str]:
    home = import_module(module)
    names = getattr(home, "__all__", None) or [
        name
        for name, value in vars(home).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module
    ]
    return sorted(name for name in names if _documented(getattr(home, name)))


def _documented(value: object) -> bool:
    return (inspect.isclass(value) or inspect.isroutine(value)) and value.__module__.startswith("calipers")


def _home(module: str, name: str) -> str:
    return f"{getattr(import_module(module), name).__module__}.{name}"
