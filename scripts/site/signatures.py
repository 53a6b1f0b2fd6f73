"""Signatures of the API as Python has them, for mkdocstrings, which reads the source without running it.

The source alone shows ``Judge(options)`` for ``Judge(judge, *, orders=1, ...)``, and, as the default of an option, the
call that declares it.
"""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from typing import Any

import griffe

from scripts.site import reference


class RealSignatures(griffe.Extension):  # type: ignore[misc]  # its types are not installed
    """Gives the classes of the reference the parameters and defaults that they have when they are called."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for path, value in reference.exported():
            if inspect.isclass(value) and (is_dataclass(value) or hasattr(value.__init__, "__wrapped__")):
                _set_parameters(pkg[path.removeprefix("calipers.")], value)


def _set_parameters(found: griffe.Class, value: type) -> None:
    known = {name: one.annotation for name, one in found.all_members.items() if isinstance(one, griffe.Attribute)}
    own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
    given = [_parameter(one, known.get(one.name)) for one in inspect.signature(value).parameters.values()]
    if isinstance(init := found.members.get("__init__"), griffe.Function):
        init.parameters = griffe.Parameters(own, *given)
    elif is_dataclass(value):
        found.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(own, *given)))


def _parameter(one: inspect.Parameter, annotation: Any) -> griffe.Parameter:
    if annotation is None and one.annotation is not inspect.Parameter.empty:
        annotation = one.annotation if isinstance(one.annotation, str) else inspect.formatannotation(one.annotation)
    default = None if one.default is inspect.Parameter.empty else repr(one.default)
    kind = griffe.ParameterKind(one.kind.description)
    return griffe.Parameter(one.name, annotation=annotation, kind=kind, default=default)
