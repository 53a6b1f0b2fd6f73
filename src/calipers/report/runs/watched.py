"""A watched run for the page: rewards against audit and truth, length, KL, held-out prompts, rules that were broken.

Reads the folder that ``calipers.study.watching`` writes. Not responsible for what its rows mean (``study.watching``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.report.runs.panels import PANELS
from calipers.report.runs.shapes import MOST_POINTS, Curves, Point, panels_of, point_of
from calipers.study.intervals import estimate
from calipers.study.watching.curves import LOGGED
from calipers.study.watching.files import WatchFolder
from calipers.study.watching.rows import FIGURES, WatchedGroup

_WATCH: Final = "watch.json"
_MOST_EXAMPLES: Final = 12
"""How many groups of one point of a curve are listed."""


def is_watched_folder(folder: Path) -> bool:
    """Return whether a folder is that of a watched run."""
    return (folder / _WATCH).is_file()


def watched_run(path: str) -> dict[str, Any]:
    """Return the watched run in a folder, for the page. Raises InputError, with the file, for unreadable rows."""
    folder = WatchFolder(Path(path))
    try:
        groups, logged, broken, title = folder.groups(), folder.log(), folder.broken(), folder.title()
    except (ConfigError, TypeError) as error:
        raise InputError(str(error)) from error
    steps = sorted({group.step for group in groups} | {int(row["step"]) for row in logged})
    blocks = blocks_of(steps)
    curves = Curves()
    by_step, log_by_step = _by_step(groups), _by_step(logged)
    for block in blocks:
        own = [group for step in block for group in by_step.get(step, ())]
        rows = [row for step in block for row in log_by_step.get(step, ())]
        curves.add(block[-1], _values(own, rows))
    panels, steady = panels_of(PANELS, curves)
    return {
        "kind": "watched",
        "name": Path(path).resolve().name,
        "title": title,
        "facts": _facts(groups, steps),
        "x": "step",
        "at": curves.at,
        "from": [block[0] for block in blocks],
        "panels": panels,
        "steady": steady,
        "counts": [],
        "alarms": [{"at": one["step"], "until": None, "name": one["rule"], "text": one["found"]}
                   for one in map(asdict, broken)],
        "alarms_are": "stop rules that were broken",
        "examples": _examples(groups, blocks),
        "lacks": list(_lacks(groups, blocks)),
    }  # fmt: skip


def blocks_of(steps: Sequence[int]) -> list[Sequence[int]]:
    """Return a run's steps in blocks of consecutive ones, of one size, so that a curve has at most MOST_POINTS."""
    size = -(-len(steps) // MOST_POINTS) or 1
    return [steps[start : start + size] for start in range(0, len(steps), size)]


def _by_step(rows: Iterable[Any]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for row in rows:
        found.setdefault(int(row["step"] if isinstance(row, Mapping) else row.step), []).append(row)
    return found


def _values(groups: Sequence[WatchedGroup], logged: Sequence[Mapping[str, Any]]) -> dict[str, Point]:
    """Return the figures of a block of a watched run: means over its groups, with their intervals."""
    found: dict[str, Point] = {}
    for split, prefix in (("train", ""), ("held_out", "held_out_")):
        for name in FIGURES:
            values = [getattr(one, name) for one in groups if one.split == split and getattr(one, name) is not None]
            if values:
                found[prefix + name] = point_of(estimate(values))
    for name in LOGGED:
        values = [row[name] for row in logged if row.get(name) is not None]
        if values:
            found[name] = (estimate(values).mean, None)
    return found


def _facts(groups: Sequence[WatchedGroup], steps: Sequence[int]) -> list[list[str]]:
    trained = [group for group in groups if group.split == "train"]
    audited = sum(group.audit is not None for group in trained)
    facts = [["judged groups", f"{len(trained):,}"], ["held-out groups", f"{len(groups) - len(trained):,}"]]
    facts.append(["audited groups", f"{audited:,}"])
    return [*facts, ["last step", f"{steps[-1]:,}"]] if steps else facts


def _lacks(groups: Sequence[WatchedGroup], blocks: Sequence[Sequence[int]]) -> Iterable[str]:
    if not groups:
        yield "No group has been judged yet."
    else:
        if all(group.audit is None for group in groups):
            yield "No audit judge: nothing is known beside the rewards themselves."
        if all(group.truth is None for group in groups):
            yield "The truth is not known."
    if blocks and len(blocks[0]) > 1:
        yield f"Each point is the mean of the groups of {len(blocks[0])} consecutive steps."


def _examples(groups: Sequence[WatchedGroup], blocks: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Return ids of groups of each block that belong to no other step: those of a prompt that recurs are ambiguous."""
    steps_of: dict[str, set[int]] = {}
    for group in groups:
        steps_of.setdefault(group.group, set()).add(group.step)
    by_step = _by_step(groups)
    found = []
    for block in blocks:
        own = [one.group for step in block for one in by_step.get(step, ())]
        found.append({"ids": [name for name in own if len(steps_of[name]) == 1][:_MOST_EXAMPLES], "groups": len(own)})
    return found
