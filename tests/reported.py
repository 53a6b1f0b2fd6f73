"""Results, groups and ledgers for tests of reports, and a report's data read back from its page."""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import calipers
from calipers.calibration import calibrate
from calipers.interfaces import Backend
from calipers.report import Sources, write_report
from calipers.types import TrajectoryGroup
from groups import group_of
from judged import gold_of, record
from judged import groups as judged_groups

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


def report_of(folder: Path, *paths: Path, groups: Path | None = None) -> Path:
    """Write a report of files, and return its path."""
    out = folder / "report.html"
    named = None if groups is None else str(groups)
    with Sources([str(path) for path in paths], groups=named, on_error=print) as sources:
        write_report(sources, out)
    return out


def page_of(folder: Path, results: Iterable[Any], *groups: TrajectoryGroup) -> Path:
    """Write a report of result lines, and of the texts of these groups if there are any."""
    texts = write_lines(folder / "groups.jsonl", (one.to_dict() for one in groups)) if groups else None
    return report_of(folder, write_lines(folder / "scored.jsonl", results), groups=texts)


def with_gold(**gold: float | None) -> TrajectoryGroup:
    """A group of members with this gold."""
    group = group_of(dict.fromkeys(gold, "an answer"))
    return replace(group, trajectories=tuple(replace(one, gold=gold[one.id]) for one in group.trajectories))


def data_of(page: Path) -> dict[str, list[Any]]:
    """The data of a page by the kinds of its blocks, unpacked; ``details`` has a list for each block."""
    found: dict[str, list[Any]] = {"rows": [], "details": [], "about": [], "judge": []}
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


def calibration_file(path: Path, *, calls: int = 8, groups: int = 40) -> Path:
    """Calibrate simulated judges, and write what ``calipers calibrate --json`` prints.

    ``steady`` is good, ``hasty`` is noisy and adds 0.6 to its score for each position nearer the front.
    """
    generator = random.Random(7)
    asked, judgments = judged_groups(groups), []
    usage = {"input_tokens": 900, "output_tokens": 100, "cost_usd": 0.001}
    for one in asked:
        gold = gold_of(one)
        for judge, noise, bias in (("steady", 0.4, 0.0), ("hasty", 1.4, 0.6)):
            for sample in range(calls):
                order = generator.sample(list(gold), 4)
                scores = {
                    name: 5 + 2 * (gold[name] + generator.gauss(0, noise)) - bias * place
                    for place, name in enumerate(order)
                }
                fields = {"order": order, "sample_index": sample, "temperature": 1.0, "usage": usage}
                judgments.append(record(one, judge, {"scores": scores}, mode="listwise", **fields))
    path.write_text(json.dumps(calibrate(asked, judgments).to_dict()) + "\n", encoding="utf-8")
    return path


WRONG: tuple[Any, ...] = (None, "x", 5, [], {"a": 5}, ["x"], True, 1e308, 10**400)
"""Values of other kinds, and numbers whose squares overflow."""


def damaged(value: Any) -> Iterator[Any]:
    """Yield copies with one value replaced or removed."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        for wrong in (*WRONG, *damaged(one)):
            copy = value.copy()
            copy[key] = wrong
            yield copy
        copy = value.copy()
        del copy[key]
        yield copy
