"""Local judges: small models that learn from the scores of recorded judges, and judge as ``local:DIR``.

Importing this package imports nothing heavy.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Distilled", "distill"]


@dataclass(frozen=True, slots=True)
class Distilled:
    """A local judge that was written: its ``folder``, its ``figures``, which its card states in words, and the name of
    the ``judge`` for ``judge=`` and ``--judge``.
    """

    folder: Path
    figures: dict[str, Any]
    judge: str


def distill(
    *ledgers: str | os.PathLike[str],
    out: str | os.PathLike[str],
    name: str = "local",
    teachers: Sequence[str] = (),
    run: int | None = None,
    force: bool = False,
) -> Distilled:
    """Train a small local judge on recorded groups, measure it on prompts that were held out, and write it to ``out``.

    ``ledgers`` are files, or addresses of Postgres. ``teachers`` names the judges whose scores count; by default, all
    but local ones. ``run`` is the number of the run to read of a ledger, by default all.

    Raises ConfigError for options and folders that cannot be used, and InputError and LedgerError for ledgers that
    cannot be read or teach nothing.
    """
    from calipers.distilling.making import make  # noqa: PLC0415 - imports numpy

    names = [os.fspath(one) for one in ledgers]
    return make(names, Path(out), name=name, teachers=teachers, run=run, force=force)
