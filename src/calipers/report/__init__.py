"""A page that shows judged groups: one HTML file that needs no network and runs nothing that a trajectory wrote.

``open_sources`` reads result files, groups files and ledgers; ``write_report`` writes the page as a stream. Not
responsible for the command line (``cli``) or for figures of training studies (``study``).
"""

from calipers.report.sources import Judged, Notes, Sources, open_sources
from calipers.report.writing import write_report

__all__ = ["Judged", "Notes", "Sources", "open_sources", "write_report"]
