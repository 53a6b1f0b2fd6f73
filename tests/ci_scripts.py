"""The Python scripts in .ci, which have no ending, as modules."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

CI = Path(__file__).resolve().parents[1] / ".ci"


def ci_script(name: str) -> ModuleType:
    """The script ``name`` of .ci, imported without leaving bytecode beside it."""
    loader = SourceFileLoader(f"calipers_ci_{name}", str(CI / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    keeps, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = keeps
    return module
