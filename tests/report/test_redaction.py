"""A redacted report holds no text that a policy, a user or a judge wrote."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from calipers.report import Judged
from calipers.report.details import details_of, index_row
from calipers.testing import SimulatedJudge
from calipers.types import Trajectory, TrajectoryGroup
from groups import QUALITY
from reported import details_in, judged, member, report_of, result_of

SECRET = "xsecretx"  # noqa: S105 - a word to look for


def secret_result() -> dict[str, Any]:
    attack = {"kind": "instruction", "message": 1, "role": "assistant", "excerpt": SECRET, "certainty": "certain"}
    verdict = {"met": True, "reason": SECRET, "quote": SECRET}
    one = member(
        "a", explanation=SECRET, reason=SECRET, attacks=[attack], criteria={"c1": verdict}, metadata={"k": SECRET},
        checks={"why": SECRET},
    )  # fmt: skip
    return result_of("g", one, warnings=[SECRET], judges=[{"judge": SECRET}], constraints=SECRET)


def secret_group() -> TrajectoryGroup:
    call = {"id": "1", "type": "function", "function": {"name": SECRET, "arguments": SECRET}}
    said = {"role": "assistant", "content": SECRET, "reasoning": SECRET, "tool_calls": [call], "name": SECRET}
    tool = {"type": "function", "function": {"name": SECRET, "description": SECRET, "parameters": {}}}
    prompt = {"role": "user", "content": [{"type": "text", "text": SECRET}]}
    return TrajectoryGroup("g", (Trajectory("a", (said,)),), context=(prompt,), tools=(tool,), rubric=SECRET)


def test_nothing_that_was_written_is_left():
    detail = details_of(Judged(0, secret_result(), secret_group()), redact=True)
    assert SECRET in json.dumps(details_of(Judged(0, secret_result(), secret_group()))), "the test can fail"
    assert SECRET not in json.dumps([detail, index_row(detail)])
    assert detail["trajectories"][0]["attacks"][0]["kind"] == "instruction"
    assert detail["trajectories"][0]["messages"] == [{"role": "assistant", "characters": 16, "calls": 1}]
    assert detail["warning_count"] == 1


async def test_questions_keep_their_numbers_and_lose_their_texts(tmp_path: Path):
    answers = {name: f"{SECRET} {name}" for name in QUALITY}
    group = TrajectoryGroup(
        "g", tuple(Trajectory(name, ({"role": "assistant", "content": text},)) for name, text in answers.items())
    )
    results, ledger = await judged(tmp_path, [group], [SimulatedJudge(QUALITY)])
    (detail,) = details_in(report_of(tmp_path, results, ledger, redact=True))
    (question,) = detail["questions"]
    assert SECRET not in json.dumps(detail)
    assert question["request"] is None
    assert question["answer"]["text"] is None
    assert sorted(question["order"]) == sorted(QUALITY)
    assert question["answer"]["input_tokens"] > 0


@given(st.dictionaries(st.text(min_size=1), st.just(SECRET), max_size=4), st.sampled_from(["group", "trajectory"]))
def test_keys_that_nobody_knows_are_removed(keys: dict[str, str], where: str):
    result = result_of("g", member("a"))
    known = result if where == "group" else result["trajectories"][0]
    known.update({key: value for key, value in keys.items() if key not in known})
    assert SECRET not in json.dumps(details_of(Judged(0, result), redact=True))
