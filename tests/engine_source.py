"""Functions of an engine's own, taken one by one from its source where the file they stand in needs a GPU to be
imported.

Their code is the engine's, line by line; only the names they use are supplied by the test. An engine that renames or
moves one of them fails the test that takes it.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def folder_of(package: str) -> Path:
    """Where an installed package's files are; it is not imported."""
    spec = importlib.util.find_spec(package)
    assert spec is not None, f"{package} is not installed"
    assert spec.submodule_search_locations, f"{package} is no package"
    return Path(spec.submodule_search_locations[0])


def taken(path: Path, *names: str, **namespace: Any) -> SimpleNamespace:
    """The functions (``name`` or ``Class.method``) of the file, compiled with ``namespace`` as their module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [_find(tree, name, path) for name in names]
    for function in found:
        function.decorator_list = []
    future = ast.ImportFrom(module="__future__", names=[ast.alias("annotations")], level=0)
    module = ast.fix_missing_locations(ast.Module(body=[future, *found], type_ignores=[]))
    scope: dict[str, Any] = dict(namespace)
    exec(compile(module, str(path), "exec"), scope)  # noqa: S102 - the installed engine's own code
    return SimpleNamespace(**{function.name: scope[function.name] for function in found})


def loaded(path: Path) -> ModuleType:
    """The file as a module of its own, without its package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _find(tree: ast.Module, name: str, path: Path) -> _Function:
    inside: list[ast.stmt] = tree.body
    *classes, last = name.split(".")
    for wanted in classes:
        inside = next(one.body for one in inside if isinstance(one, ast.ClassDef) and one.name == wanted)
    for one in inside:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == last:
            return one
    raise AssertionError(f"{path} has no function {name}")
