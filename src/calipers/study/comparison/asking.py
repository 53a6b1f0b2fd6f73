"""Asks the judges of a comparison, cell by cell, and writes what they answered.

Every answer is recorded in one ledger before it is used, so that the same comparison asks nothing twice: an
interrupted one goes on where it stopped. A cell that fails leaves the others. Not responsible for figures
(``figures``).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from calipers.calibration.collect import JudgeAnswers, collect_judgments
from calipers.calibration.costs import Cost, total_cost
from calipers.calibration.records import Key, as_record
from calipers.calibration.series import Frame
from calipers.errors import CalipersError, LedgerError
from calipers.study.comparison.answers import CellAnswers, Evidence, Rewritten, verdicts_of
from calipers.study.comparison.folder import write
from calipers.study.comparison.judges import judge_options
from calipers.study.comparison.settings import Cell
from calipers.study.comparison.study_file import Study
from calipers.study.comparison.variants import variants_of
from calipers.types import TrajectoryGroup
from calipers.types.counted import counted
from calipers.types.encoding import to_json

ANSWERS: Final = "answers.db"
JUDGMENTS: Final = "judgments.jsonl"
REWRITTEN: Final = "rewritten.jsonl"
Lines = list[dict[str, Any]]


def ask_cells(study: Study, out: Path, *, tell: Callable[[str], object] = lambda _: None) -> Evidence:
    """Ask all judges of a comparison, and return their answers; questions answered in ``out`` are not asked again.

    Writes the judgments to ``out``. ``tell`` is called with a line for each cell.
    """
    cells, plain, rewritten = [], [], []
    for cell in study.cells:
        answers, own, others = _ask_cell(study, cell, out)
        cells.append(answers)
        plain += own
        rewritten += others
        state = f"failed: {answers.failed}" if answers.failed else counted(_calls(answers), "answer")
        tell(f"{cell}: {state}")
    for name, lines in ((JUDGMENTS, plain), (REWRITTEN, rewritten)):
        write(out / name, b"".join(to_json(line, lone="replace") + b"\n" for line in lines))
    return Evidence(Frame.of(study.groups), tuple(cells), study.texts)


def _calls(answers: CellAnswers) -> float:
    return answers.cost.calls + answers.rewritten_cost.calls


def _ask_cell(study: Study, cell: Cell, out: Path) -> tuple[CellAnswers, Lines, Lines]:
    """Ask one cell; return its answers, and the lines of both files of judgments."""
    options = judge_options(cell, study.settings, study.groups, study.rubrics[cell.wording])
    key = Key(cell.name, _mode(options["protocol"]), cell.wording, cell.temperature, None)
    found = CellAnswers(str(cell), key, cell.table.model or "simulated")
    own: Lines = []
    others: Lines = []
    try:
        own, found.cost, found.unscored = _ask(cell, study.groups, options, out)
        found.records = [as_record(line) for line in own if line.get("criterion") is None]
        found.verdicts = verdicts_of(as_record(line) for line in own if line.get("criterion") is not None)
        costs: list[Cost] = []
        options["samples"] = study.settings.rewritten_samples
        for rewrite, groups, ids in _rewritten_groups(study, alone=options["protocol"] in ("pointwise", "checklist")):
            lines, cost, _ = _ask(cell, groups, options, out)
            costs.append(cost)
            whole = [line for line in lines if line.get("criterion") is None]
            others += [{**line, "rewrite": rewrite, "rewritten": sorted(ids[line["group_id"]])} for line in whole]
            found.rewritten += [Rewritten(rewrite, ids[line["group_id"]], as_record(line)) for line in whole]
            found.rewritten_cost = total_cost(costs)
    except LedgerError:
        raise
    except CalipersError as error:
        found.failed = str(error)
    except Exception as error:  # noqa: BLE001 - a judge of the user's own may raise anything; other cells go on
        found.failed = f"{type(error).__name__}: {error}"
    return found, own, others


def _mode(protocol: str) -> Any:
    return "pointwise" if protocol == "checklist" else protocol


def _rewritten_groups(
    study: Study, *, alone: bool
) -> Iterator[tuple[str, list[TrajectoryGroup], Mapping[str, frozenset[str]]]]:
    """Yield each rewrite with the groups to ask about, one variant of a group at a time, and the ids rewritten."""
    for rewrite, texts in study.texts.items():
        parts: list[list[tuple[TrajectoryGroup, frozenset[str]]]] = [[], []]
        for group in study.groups:
            for number, one in enumerate(variants_of(group, rewrite, texts, halves=not alone)):
                parts[number].append((one.group, one.rewritten))
        for part in filter(None, parts):
            yield rewrite, [group for group, _ in part], {group.group_id: ids for group, ids in part}


def _ask(
    cell: Cell, groups: Sequence[TrajectoryGroup], options: Mapping[str, Any], out: Path
) -> tuple[Lines, Cost, str | None]:
    """Ask about ``groups``; return a line for each answer, and for each verdict, and what they cost.

    The third value is the most frequent reason for which answers have no score, if any.
    """
    asked = asyncio.run(
        collect_judgments(groups, cell.name, prompt_variant=cell.wording, ledger=out / ANSWERS, **options)
    )
    cost = total_cost(as_record(line).cost for line in asked.judgments)
    shared = options["rubric"] is not None
    lines = list(_graded_lines(asked, shared=shared)) if options["protocol"] == "checklist" else asked.judgments
    why = Counter(one.reason for result in asked.results for one in result.trajectories if one.reason)
    return (
        [{**line, "temperature": cell.temperature} for line in lines],
        cost,
        why.most_common(1)[0][0] if why else None,
    )


def _graded_lines(asked: JudgeAnswers, *, shared: bool) -> Iterator[dict[str, Any]]:
    """Yield a line for the score of each answer that was graded by criteria, and one for each verdict.

    Criteria of a group's own rubric (not ``shared``) are named with the group's id.
    """
    for result in asked.results:
        for one in result.trajectories:
            common: dict[str, Any] = {
                "group_id": result.group_id,
                "judge": asked.judge,
                "prompt_variant": asked.prompt_variant,
            }
            common |= {"mode": "pointwise", "order": [one.id], "scale": [0, 1]}
            yield {**common, "parsed": None if one.score is None else {"scores": {one.id: one.score}}}
            for criterion, told in one.extra.get("criteria", {}).items():
                met = told["met"]
                parsed = None if met is None else {"scores": {one.id: int(met)}}
                name = str(criterion) if shared else f"{result.group_id}: {criterion}"
                yield {**common, "criterion": name, "parsed": parsed}
