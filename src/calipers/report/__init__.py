"""A page that shows judged groups: one HTML file that needs no network and runs nothing that a trajectory wrote.

``Sources`` reads result files, groups files, ledgers and calibrations; ``write_report`` writes the page.
"""

from calipers.report.sources import Judged, Notes, Sources
from calipers.report.writing import write_report

__all__ = ["Judged", "Notes", "Sources", "write_report"]
