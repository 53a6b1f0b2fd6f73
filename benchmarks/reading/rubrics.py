"""Rubrics: the study's recorded scores from raw judge text, replies that broke its parser, and judge tokens.

    python -m benchmarks.reading.rubrics

Reads ``ruscarl`` and the agent groups from the recorded data beside the repository or at CALIPERS_DATA; Parquet needs
pyarrow, tokens need rs-bpe (``pip install rs-bpe``). No network, no judge. The exit code is 1 where a target is missed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.environment import recorded_data
from calipers.inputs import read_groups
from calipers.planners.criteria import Criteria
from calipers.protocols.checklist import Checklist
from calipers.protocols.listwise import Listwise
from calipers.render import render
from calipers.replies import ChecklistReading, extract_checklist
from calipers.rubric import Grading, as_rubric
from calipers.rubric.formulas import graded
from calipers.rubric.grading import Normaliser
from calipers.types import Ask, JudgeRequest, PlanState, Rubric, Scores, Trajectory, TrajectoryGroup

MOST = 1.15
"""Judge tokens of all-in-one grading by 12 criteria, beside one free listwise question about the same trajectory.

Beside a question that shows the same criteria as its standards, everywhere; beside one with the built-in standards, on
agents' trajectories only: 12 criteria are longer than a short chat answer, and no way of asking makes them shorter."""
_CRITERION = re.compile(
    r"^(\d+)\. \(points: (-?[\d.]+)\) (.*?)(?=^\d+\. \(points: |^</Rubrics>|\Z)", re.MULTILINE | re.DOTALL
)
_RESPONSE = re.compile(r"<Prompt>\n(.*)\n</Prompt>\n\n<Response>\n(.*)\n</Response>", re.DOTALL)


# --- the sweep --------------------------------------------------------------------------------------------------------


def regraded(row: dict[str, Any]) -> tuple[str, float | None]:
    """The formula and the score of one recorded judgment, from its raw text alone."""
    debug = row["judge_debug"]
    batch = "response_text" in debug
    rubric = rubric_of(debug["prompt_text"]) if batch else as_rubric(["All constraints are kept."])
    ids = [str(place) for place in range(1, len(rubric.criteria) + 1)]
    reading = extract_checklist(debug["response_text" if batch else "judge_text"], ids)
    verdicts = {one.id: reading.verdicts.get(place) for place, one in zip(ids, rubric.criteria, strict=True)}
    formula: Normaliser = "ruscarl_batch" if batch else "all_or_nothing"
    return formula, graded(rubric, verdicts, normaliser=formula).value


def rubric_of(prompt: str) -> Rubric:
    """The criteria that a recorded grading's question lists, with their points."""
    listed = _CRITERION.findall(prompt.rpartition("<Rubrics>")[2])
    return as_rubric([{"id": number, "text": text, "points": float(points)} for number, points, text in listed])


def sweep(rows: Sequence[dict[str, Any]]) -> bool:
    """Print every recorded score beside ours; whether all are equal."""
    same = 0
    for row in rows:
        name, ours = regraded(row)
        same += ours == row["score"]
        mark = "" if ours == row["score"] else "  DIFFERS"
        print(f"  {row['judge']:16} {row['id']:24} {name:15} recorded {row['score']:<20} ours {ours}{mark}")
    print(f"recorded scores reproduced exactly: {same} of {len(rows)}")
    return same == len(rows)


# --- replies that broke the study's parser ----------------------------------------------------------------------------

TRUTH = {"1": True, "2": False, "3": True}
_WORDS = {key: "PRESENT" if met else "NOT_PRESENT" for key, met in TRUTH.items()}
_REPLY = json.dumps(_WORDS, indent=1)


def _fenced(text: str, label: str = "json") -> str:
    return f"```{label}\n{text}\n```"


BROKEN = {
    "preface before the fence": "Here is my evaluation of the response.\n" + _fenced(_REPLY),
    "text after the fence": _fenced(_REPLY) + "\nOverall the response is decent.",
    "plain or upper-case fence": _fenced(_REPLY, "JSON"),
    "booleans": _fenced(json.dumps(TRUTH)),
    "nested objects": _fenced(json.dumps({key: {"verdict": word} for key, word in _WORDS.items()})),
    '"rubric_1" keys': _fenced(json.dumps({f"rubric_{key}": word for key, word in _WORDS.items()})),
    "one key missing": _fenced(json.dumps({key: _WORDS[key] for key in ("1", "2")})),
    "truncated JSON": '```json\n{"1": "PRESENT", "2": "NOT_PRE',
    "leftover </think>": "All of them seem to be there.\n</think>\n" + _fenced(_REPLY),
    "list": _fenced(json.dumps(list(_WORDS.values()))),
    "trailing comma": _fenced(_REPLY[:-2] + ",\n}"),
    '"NOT PRESENT" with a space': _fenced(_REPLY.replace("_", " ")),
    "list of rows": _fenced(json.dumps([{"idx": place, "verdict": one} for place, one in enumerate(_WORDS.values())])),
}


def told(reading: ChecklistReading) -> str:
    """What became of a reply, in a word or two."""
    if any(TRUTH[key] != met for key, met in reading.verdicts.items()):
        return "WRONG"
    return "read" if not reading.missing else f"{len(reading.verdicts)} of 3 read, rest asked again: {reading.reason}"


def failures() -> bool:
    """Print what is read of each kind; whether nothing is read wrongly and nothing open becomes a score."""
    rubric = as_rubric([{"id": key, "text": key, "points": 1} for key in TRUTH])
    honest = True
    for name, reply in BROKEN.items():
        reading = extract_checklist(reply, list(TRUTH))
        score = graded(rubric, reading.verdicts).value
        honest &= told(reading) != "WRONG" and (score is None) == bool(reading.missing)
        print(f"  {name:28} study 0.0   ours {score if score is None else round(score, 3)!s:6} {told(reading)}")
    return honest


# --- tokens -----------------------------------------------------------------------------------------------------------

EXPLANATION = (
    "It looks up the reservation and applies the right rule, but it asks twice for what the user had said already and "
    "never confirms the refund that it announces."
)
"""What a judge writes of one attempt in a free comparison: two sentences at most were asked for."""
REASON = "No tool call makes the refund."
"""Six words, the most that were asked for."""


def asked(request: JudgeRequest) -> str:
    """All text of a question."""
    return "".join(str(message["content"]) for message in request.messages)


def lone(group: TrajectoryGroup, member: Trajectory) -> TrajectoryGroup:
    """One trajectory of a group, as a group."""
    return replace(group, trajectories=(member,), rubric=None)


def free(group: TrajectoryGroup, rubric: Rubric | None) -> str:
    """Question and answer of a free listwise call about a lone trajectory, by the built-in standards or by a
    rubric's.
    """
    request = Listwise().frame(Ask(0, (0,), (0,)), render(group, rubric=rubric))
    key = request.keys[0]
    return asked(request) + json.dumps({"explanations": {key: EXPLANATION}, "scores": {key: 72}})


def checked(group: TrajectoryGroup, rubric: Rubric, *, reasons: bool) -> str:
    """Question and answer of grading a lone trajectory by all criteria at once."""
    grading = Grading(reasons=reasons)
    graded_view = render(group, rubric=rubric, graded=True)
    state = PlanState(graded_view, (), Scores((None,), (None,)))
    (ask,) = Criteria(grading=grading).next_asks(state)
    names = [str(place) for place in range(1, len(rubric.criteria) + 1)]
    reply: dict[str, Any] = {name: {"reason": REASON, "met": True} if reasons else True for name in names}
    return asked(Checklist(grading).frame(ask, graded_view)) + json.dumps(reply)


def tokens(root: Path) -> bool:
    """Print tokens of both ways on agents' trajectories and on chat answers; whether the target holds on the former."""
    try:
        from rs_bpe.bpe import openai  # noqa: PLC0415 - only this part needs it
    except ImportError:
        print("tokens: not counted, rs-bpe is not installed")
        return True
    count = openai.o200k_base().count
    rows = [row for row in sweep_rows(root) if "response_text" in row["judge_debug"]]
    rubrics = {row["id"]: rubric_of(row["judge_debug"]["prompt_text"]) for row in rows}
    twelve = next(one for one in rubrics.values() if len(one.criteria) == 12)
    sets = {name: agents(root / name / "groups.jsonl.gz") for name in ("taubench_airline", "tau2_airline")}
    sets["chat answers"] = [
        chat(row["judge_debug"]["prompt_text"]) for row in {row["id"]: row for row in rows}.values()
    ]
    kept = True
    for name, groups in sets.items():
        built_in, same = (sum(count(free(group, one)) for group in groups) for one in (None, twelve))
        for reasons in (True, False):
            all_in_one = sum(count(checked(group, twelve, reasons=reasons)) for group in groups)
            print(
                f"  {name:18} {len(groups):4} trajectories, reasons {'yes' if reasons else 'no ':3} checklist "
                f"{all_in_one:9,} free {built_in:9,} ratio {all_in_one / built_in:.3f}, by the same criteria "
                f"{same:9,} ratio {all_in_one / same:.3f}"
            )
            kept &= all_in_one / same <= MOST and (name == "chat answers" or all_in_one / built_in <= MOST)
    return kept


def agents(path: Path) -> list[TrajectoryGroup]:
    """Every trajectory of a file by itself."""
    return [lone(group, member) for group in read_groups(path) for member in group.trajectories if member.messages]


def chat(prompt: str) -> TrajectoryGroup:
    """The conversation and answer that the study's question shows."""
    found = _RESPONSE.search(prompt)
    if found is None:
        raise ValueError("the recorded question has no response in it")
    answer = Trajectory("a", ({"role": "assistant", "content": found[2].rpartition("</think>")[2]},))
    return TrajectoryGroup("g", (answer,), ({"role": "user", "content": found[1]},))


def sweep_rows(root: Path) -> list[dict[str, Any]]:
    """The recorded judgments."""
    lines = (root / "ruscarl" / "judge_sweep.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def main() -> int:
    """Print all three."""
    print("kinds of reply that became reward 0 in the study:")
    good = failures()
    root = recorded_data()
    if not (root / "ruscarl").is_dir():
        print(f"no recorded data at {root}: set CALIPERS_DATA to where it is")
        return 0 if good else 1
    print("\nthe study's judge sweep:")
    good &= sweep(sweep_rows(root))
    print("\njudge tokens, question and answer, 12 criteria (o200k):")
    good &= tokens(root)
    print("all targets met" if good else "A TARGET WAS MISSED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
