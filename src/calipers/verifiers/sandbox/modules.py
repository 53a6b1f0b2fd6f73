"""Which modules code in the sandbox may import: loaded before it is locked in, for there are no files afterwards.

A list of what text rules and small programs use and what does no harm; the walls are ``confinement``'s, not this one's.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Iterable
from typing import Final

_NAMES = """
__future__ abc array base64 binascii bisect calendar cmath collections collections.abc copy csv dataclasses datetime decimal
difflib enum fractions functools graphlib hashlib heapq html html.entities html.parser io itertools json keyword math
numbers operator random re statistics string struct sys textwrap time types typing unicodedata urllib.parse zlib
"""
ALLOWED: Final = tuple(_NAMES.split())
"""Importable in every sandbox, with what belongs to them."""

_CODECS = "ascii latin_1 utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 cp1252 idna punycode unicode_escape raw_unicode_escape"
_LATE = ("_strptime", "encodings.aliases", *(f"encodings.{name}" for name in _CODECS.split()))
"""What the standard library imports in the middle of a call, in the name of whoever called."""


def load(further: Iterable[str] = ()) -> frozenset[str]:
    """Import everything allowed and ``further`` packages whole; the names at whose head code may import.

    Raises ImportError naming a further module that is not installed.
    """
    for name in (*ALLOWED, *_LATE):
        importlib.import_module(name)
    for name in further:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}.", onerror=_pass_over):
            if not any(part in {"tests", "testing", "benchmarks", "__main__"} for part in found.name.split(".")):
                with contextlib.suppress(Exception):  # parts for other systems, or that want another package
                    importlib.import_module(found.name)
    return frozenset(name.partition(".")[0] for name in (*ALLOWED, *_LATE, *further))


def _pass_over(name: str) -> None:
    """A part of a package that cannot be imported stays out, and is refused when code asks for it."""
