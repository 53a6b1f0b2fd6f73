"""Results, groups and ledgers for tests of reports, and a report's data read back from its page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import calipers
from calipers.interfaces import Backend
from calipers.report import open_sources, write_report
from calipers.types import TrajectoryGroup

_BLOCK = re.compile(rb'<script type="application/x-calipers-(\w+)">([A-Za-z0-9+/=]*)</script>')


def member(name: str, reward: float | None = 0.5, **more: Any) -> dict[str, Any]:
    """A trajectory of a result file."""
    status = "abstained" if reward is None else "scored"
    numbers = {"reward": reward, "score": reward, "stderr": None}
    return {"id": name, "status": status, **numbers, "explanation": None, "reason": None, **more}


def result_of(group_id: str, *members: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A line of a result file."""
    usage = {"input_tokens": 100, "output_tokens": 10, "cached_tokens": 0, "cost_usd": None}
    counts = {"judge_calls": 1, "usage": usage, "warnings": [], "attempts": 1, "unusable": 0}
    return {"group_id": group_id, "status": "scored", "trajectories": list(members), **counts, **more}


def write_lines(path: Path, lines: Iterable[Any]) -> Path:
    """Write JSON lines, such as a result file."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def report_of(folder: Path, *paths: Path, groups: Path | None = None, redact: bool = False) -> Path:
    """Write a report of files, and return its path."""
    out = folder / "report.html"
    named = None if groups is None else str(groups)
    with open_sources([str(path) for path in paths], groups=named, on_error=print) as sources:
        write_report(sources, out, redact=redact)
    return out


def data_of(page: Path) -> dict[str, list[Any]]:
    """The data of a page by the kinds of its blocks, unpacked; ``details`` has a list for each block."""
    found: dict[str, list[Any]] = {"rows": [], "details": [], "about": [], "run": [], "study": []}
    for kind, packed in _BLOCK.findall(page.read_bytes()):
        lines = [json.loads(line) for line in zlib.decompress(base64.b64decode(packed)).split(b"\n")]
        if kind == b"details":
            found["details"].append(lines)
        else:
            found.setdefault(kind.decode(), []).extend(lines)
    return found


def details_in(page: Path) -> list[dict[str, Any]]:
    """What a page knows of each group, in order."""
    data = data_of(page)
    return [data["details"][row["chunk"]][row["line"]] for row in data["rows"]]


async def judged(
    folder: Path, groups: Sequence[TrajectoryGroup], judges: list[Backend], **options: Any
) -> tuple[Path, Path]:
    """Judge groups; return the result file and the ledger."""
    ledger, out = folder / "runs.db", folder / "scored.jsonl"
    async with calipers.Judge(judges, ledger=str(ledger), **options) as judge:
        results = [result.to_dict() async for result in judge.score_groups(groups, ordered=True)]
    return write_lines(out, results), ledger
