"""The modules that code in the sandbox may import. They are loaded before confinement, which forbids reading files.

The list has harmless modules that rules on text and small programs use. It protects nothing; ``confinement`` does.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Iterable
from typing import Final

_NAMES = """
__future__ abc array base64 binascii bisect calendar cmath collections collections.abc copy csv dataclasses datetime
decimal difflib enum fractions functools graphlib hashlib heapq html html.entities html.parser io itertools json keyword
math numbers operator random re statistics string struct sys textwrap time types typing unicodedata urllib.parse zlib
"""
ALLOWED: Final = tuple(_NAMES.split())
"""Modules, with their submodules, that code in every sandbox may import."""

_CODECS = (
    "ascii latin_1 utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 cp1252 idna punycode unicode_escape "
    "raw_unicode_escape"
)
_LATE = ("_strptime", "encodings.aliases", *(f"encodings.{name}" for name in _CODECS.split()))
"""Modules that functions of the standard library import only when they are called."""


def import_allowed(further: Iterable[str] = ()) -> frozenset[str]:
    """Import the modules that code in the sandbox may use, and the packages ``further``. Return their top-level names.

    Raises ImportError naming one of ``further`` that is not installed.
    """
    for name in (*ALLOWED, *_LATE):
        importlib.import_module(name)
    for name in further:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}.", onerror=_skip):
            if not any(part in {"tests", "testing", "benchmarks", "__main__"} for part in found.name.split(".")):
                with contextlib.suppress(Exception):  # some modules are for other systems or need another package
                    importlib.import_module(found.name)
    return frozenset(name.partition(".")[0] for name in (*ALLOWED, *_LATE, *further))


def _skip(name: str) -> None:
    """Skip a part of a package that cannot be imported. Code that imports it later is refused."""
