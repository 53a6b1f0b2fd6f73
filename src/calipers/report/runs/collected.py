"""All runs and studies of a report: those of ledgers are followed while its groups are written, the others are read."""

from __future__ import annotations

from typing import Any

from calipers.ledger.answers import RecordedRun as Recorded
from calipers.ledger.contents import RunExtent
from calipers.report.runs.ledgers import RecordedRun
from calipers.report.runs.studies import study_of
from calipers.report.runs.watched import watched_run
from calipers.report.sources import Judged, Sources, judge_names


class Runs:
    """The runs of a report's ``sources``: ``add`` each judged group, then ``finish``, also several times."""

    def __init__(self, sources: Sources) -> None:
        self._runs = [RecordedRun(extent.groups) for _, _, extent in sources.runs]

    def add(self, judged: Judged, row: int) -> None:
        """Add a judged group; ``row`` is its number in the page."""
        if judged.run is not None:
            self._runs[judged.run].add(judged, row)

    def finish(self, sources: Sources) -> list[dict[str, Any]]:
        """Return all runs for the page; ``sources`` are those of the beginning, as they are now.

        Raises InputError for a watched run that cannot be read.
        """
        ledgers = [
            run.finish(_about(name, recorded, extent))
            for run, (name, recorded, extent) in zip(self._runs, sources.runs, strict=True)
        ]
        watched = [watched_run(path) | {"name": sources.called[path]} for path in sources.watched]
        return [*ledgers, *watched]


def studies_of(sources: Sources, *, redact: bool) -> list[dict[str, Any]]:
    """Return the studies of a report for the page. Raises InputError for one that cannot be read."""
    studies = [study_of(path) | {"name": sources.called[path]} for path in sources.studies]
    if redact:  # an error's text may quote anything
        return [one | {"failed": [run | {"why": None} for run in one["failed"]]} for one in studies]
    return studies


def _about(name: str, recorded: Recorded, extent: RunExtent) -> dict[str, Any]:
    """Return what a page says about a ledger's run beside what its groups say."""
    settings = recorded.settings
    judges = judge_names(settings["judges"])
    facts = [["run", f"{recorded.id} of {extent.of}" if extent.of > 1 else str(recorded.id)]]
    facts += [["judged by", ", ".join(judges)], ["protocol", str(settings.get("protocol"))]]
    facts += [["began", _minute(extent.began)], ["latest answer", _minute(extent.last) if extent.last else "none"]]
    failed = [[kind, count] for kind, count in extent.failed.items()]
    return {
        "name": f"{name}, run {recorded.id}",
        "facts": facts,
        "counts": [{"title": "calls without an answer", "rows": failed}] if failed else [],
    }


def _minute(when: str) -> str:
    """Return an ISO time in UTC to the minute."""
    return f"{when[:16].replace('T', ' ')} UTC"
