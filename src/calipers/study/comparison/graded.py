"""Recorded gradings by rubrics in RuscaRL's form: a judge's full question, its raw reply, and the score given for it.

A line has ``judge`` (``NAME_tTEMPERATURE``), ``id``, ``score`` and ``judge_debug``: with ``prompt_text`` and
``response_text``, a list of criteria graded in one call; otherwise, with ``judge_text``, one verdict on all
constraints. Scores are computed from the raw replies alone. Not responsible for formulas (``rubric.formulas``) or for
reading replies (``replies``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from calipers.errors import InputError
from calipers.replies import extract_checklist
from calipers.rubric import as_rubric
from calipers.rubric.formulas import graded
from calipers.types import Rubric
from calipers.types.encoding import measured_number

_CRITERION: Final = re.compile(
    r"^(\d+)\. \(points: (-?[\d.]+)\) (.*?)(?=^\d+\. \(points: |^</Rubrics>|\Z)", re.MULTILINE | re.DOTALL
)
_SHOWN: Final = re.compile(r"<Prompt>\n(.*)\n</Prompt>\n\n<Response>\n(.*)\n</Response>", re.DOTALL)
_JUDGE: Final = re.compile(r"(.+)_t(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Grading:
    """A recorded grading in a comparison: the answer ``id`` that ``judge`` graded, and what its raw reply says.

    ``score`` follows from the reply by ``formula``, and is None if a verdict is missing; ``recorded`` is the score of
    the record. ``verdicts`` are by criterion, 1 for a met one. ``prompt`` and ``response`` are the texts graded, if the
    question shows them.
    """

    judge: str
    temperature: float | None
    id: str
    formula: str
    score: float | None
    recorded: float | None
    verdicts: Mapping[str, float]
    prompt: str = ""
    response: str = ""


def is_grading(row: object) -> bool:
    """Return whether a line of a file that a comparison reads is a recorded grading."""
    return isinstance(row, Mapping) and {"judge", "id", "judge_debug"} <= row.keys()


def as_grading(row: Mapping[str, Any]) -> Grading:
    """Return the recorded grading in a line, graded anew for a comparison. Raises InputError for what is not one."""
    debug, judge, name = row.get("judge_debug"), row.get("judge"), row.get("id")
    if not isinstance(debug, Mapping) or not isinstance(judge, str) or not isinstance(name, str):
        raise InputError("is no recorded grading: 'judge' and 'id' must be texts, and 'judge_debug' an object")
    rubric, text, formula = _question(debug)
    ids = [str(place) for place in range(1, len(rubric.criteria) + 1)]
    reading = extract_checklist(text, ids)
    verdicts = {one.id: reading.verdicts.get(place) for place, one in zip(ids, rubric.criteria, strict=True)}
    shown = _SHOWN.search(str(debug.get("prompt_text") or ""))
    named = _JUDGE.fullmatch(judge)
    return Grading(
        named[1] if named else judge,
        float(named[2]) if named else None,
        name,
        formula,
        graded(rubric, verdicts, normaliser=formula).value,  # type: ignore[arg-type]  # one of two names
        measured_number(row.get("score")),
        {criterion: float(met) for criterion, met in verdicts.items() if met is not None},
        shown[1] if shown else "",
        shown[2].rpartition("</think>")[2] if shown else "",
    )


def _question(debug: Mapping[str, Any]) -> tuple[Rubric, str, str]:
    """Return the criteria that were asked about, the judge's raw reply, and the formula of the score."""
    prompt, response, verdict = (debug.get(key) for key in ("prompt_text", "response_text", "judge_text"))
    if isinstance(prompt, str) and isinstance(response, str):
        return rubric_of(prompt), response, "ruscarl_batch"
    if isinstance(verdict, str):
        return as_rubric(["All constraints are kept."]), verdict, "all_or_nothing"
    raise InputError("'judge_debug' needs prompt_text and response_text, or judge_text")


def rubric_of(prompt: str) -> Rubric:
    """Return the criteria that a recorded grading's question lists, with their points. Raises InputError for none."""
    listed = prompt.rpartition("<Rubrics>")[2]
    found = [
        {"id": number, "text": text, "points": float(points)} for number, points, text in _CRITERION.findall(listed)
    ]
    if not found:
        raise InputError("'prompt_text' lists no criteria between <Rubrics> and </Rubrics>")
    return as_rubric(found)
