"""Reads word lists and tables that the package ships as TOML files, so that they can be edited without reading code."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def read_packaged_toml(package: str, name: str) -> dict[str, Any]:
    """Return the TOML file ``name`` in the folder of ``package`` as data.

    The file is read once, so callers must not change what they get.
    """
    import tomllib  # noqa: PLC0415 - not every run needs a table
    from importlib.resources import files  # noqa: PLC0415 - likewise

    return tomllib.loads(files(package).joinpath(name).read_text("utf-8"))
