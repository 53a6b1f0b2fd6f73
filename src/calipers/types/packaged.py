"""Word lists and tables that the package ships as TOML files, so that they can be edited without reading code."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def packaged(package: str, name: str) -> dict[str, Any]:
    """What the TOML file ``name`` in the folder of ``package`` holds. Read once; callers must not change it."""
    import tomllib  # noqa: PLC0415 - not every run needs a table
    from importlib.resources import files  # noqa: PLC0415 - likewise

    return tomllib.loads(files(package).joinpath(name).read_text("utf-8"))
