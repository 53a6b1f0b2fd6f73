"""A page that shows judged groups: one HTML file that needs no network and runs nothing that a trajectory wrote.

``open_sources`` reads result files, groups files, ledgers and calibrations; ``write_report`` writes the page.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calipers.report.sources import Judged, Notes, Sources, open_sources
    from calipers.report.writing import write_report

__all__ = ["Judged", "Notes", "Sources", "open_sources", "write_report"]


def __getattr__(name: str) -> object:
    """Import a public name of the report when it is first used: the label page uses parts that read no ledger."""
    if name not in __all__:
        raise AttributeError(f"module 'calipers.report' has no attribute {name!r}")
    module = "calipers.report.writing" if name == "write_report" else "calipers.report.sources"
    return getattr(import_module(module), name)
