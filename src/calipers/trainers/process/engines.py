"""Read the installed version of a training engine, and warn about versions that an adapter was not tested with.

Versions are read from package metadata; only ``import_engine`` imports anything. Not responsible for versions that
cannot work: each adapter refuses those itself, and names what is missing.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from calipers.errors import ConfigError


def installed_version(package: str) -> tuple[int, int] | None:
    """Return (major, minor) of the training engine ``package``, or None if it is not installed or has no such
    numbers.
    """
    try:
        found = re.match(r"(\d+)\.(\d+)", version(package))
    except PackageNotFoundError:
        return None
    return None if found is None else (int(found[1]), int(found[2]))


@cache
def warn_untested(package: str, *tested: str) -> None:
    """Warn, once a process, if the installed engine ``package`` is none of the ``tested`` versions (major.minor:
    "0.11").

    If the package is not installed, for example because an engine is run from its source, there is no warning.
    """
    found = installed_version(package)
    if found is not None and ".".join(map(str, found)) not in tested:
        warnings.warn(
            f"calipers' adapter was tested with {package} {', '.join(tested)}, and {version(package)} is installed; "
            "check the advantages of a few groups before you rely on a run",
            stacklevel=3,
        )


def import_engine(module: str, *, remedy: str) -> Any:
    """Return a module of a training engine, imported now. Raises ConfigError with ``remedy`` if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"{remedy} ({error})") from error
