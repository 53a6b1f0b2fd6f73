"""Judges compared on the same groups: how they score, agree and repeat themselves, and what rewrites earn from them.

A TOML file describes a matrix of judges, temperatures, wordings and rewrites; recorded answers are compared without
asking anything. Importing this package imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calipers.study.comparison.folder import RESULTS, STUDY, TOML, require_possible, require_usable, write
from calipers.types.encoding import to_json

if TYPE_CHECKING:
    from calipers.study.comparison.figures import ComparisonFigures
    from calipers.study.comparison.study_file import Study

__all__ = ["RESULTS", "compare_study", "require_possible", "require_usable", "write_results"]


def compare_study(study: Study, out: Path, *, tell: Callable[[str], object] = lambda _: None) -> ComparisonFigures:
    """Ask all judges of a comparison in the folder ``out``, as far as they were not asked, and write its results.

    ``tell`` is called with a line for each cell. Raises ConfigError, before anything is asked, for an ``out`` that
    holds other things.
    """
    from calipers.study.comparison.asking import ask_cells  # noqa: PLC0415 - imports numpy
    from calipers.study.comparison.figures import figures_of  # noqa: PLC0415 - likewise
    from calipers.study.comparison.made_with import made_with  # noqa: PLC0415 - likewise

    require_usable(out)
    write(out / TOML, study.text.encode())
    write(out / STUDY, to_json(made_with(study)) + b"\n")
    found = figures_of(ask_cells(study, out, tell=tell))
    write_results(found, out, title=study.settings.title, notes=study.notes)
    return found


def write_results(found: ComparisonFigures, out: Path, **more: Any) -> None:
    """Write a comparison's figures to the folder ``out``. Raises ConfigError if it cannot be written."""
    from calipers.study.comparison.results import result_object  # noqa: PLC0415 - imports numpy

    write(out / RESULTS, to_json(result_object(found, **more), lone="replace") + b"\n")
