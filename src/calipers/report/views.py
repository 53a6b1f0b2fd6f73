"""The data of a page's views beside its groups, *Judge* and *Run*, summed up while the groups are read.

Memory does not grow with the number of groups. Not responsible for the sums themselves (``judge_tallies``, ``runs``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calipers.report.judge_files import read_judge_file
from calipers.report.judge_tallies import SourceTally
from calipers.report.runs.collected import Runs
from calipers.report.sources import Judged, Sources


class Views:
    """The views of a report's ``sources``: ``add`` each group; ``lines`` may be called at any time, and again.

    With ``redact``, no view holds a text of a judge. Raises InputError for a file about judges that cannot be read.
    """

    def __init__(self, sources: Sources, *, redact: bool = False) -> None:
        self._told = [
            read_judge_file(path, redact=redact) | {"source": sources.called[path]} for path in sources.judge_files
        ]
        self._tallies: dict[int, SourceTally] = {}
        self._runs = Runs(sources)
        self._count = 0

    def add(self, judged: Judged, detail: Mapping[str, Any]) -> None:
        """Add the page's next group, with its details."""
        self._runs.add(judged, self._count)
        self._tallies.setdefault(judged.source, SourceTally()).add(detail)
        self._count += 1

    def lines(self, sources: Sources) -> dict[str, list[dict[str, Any]]]:
        """Return what the views of a page show, by kind; ``sources`` say how far runs are recorded.

        Raises InputError for a watched run that cannot be read.
        """
        judged = [tally.to_dict(sources.names[source]) for source, tally in sorted(self._tallies.items())]
        return {"judge": [*judged, *self._told], "run": self._runs.finish(sources)}
