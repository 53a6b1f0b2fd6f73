"""A user's own grader prompt: where its text comes from, what a judge is sent, and how its replies are read."""

import json
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.backends.providers.scripted import Scripted
from calipers.rubric.grader_prompt import filled_grader_prompt
from calipers.types import Criterion
from heard import Heard

TEMPLATE = "Read this.\n<<conversation>>\nItem: <<rubric_item>>\nAnswer in JSON."
ITEMS = [
    {"id": "why", "text": "Says why.", "points": 5, "tags": ["axis:accuracy"]},
    {"id": "rude", "text": "Is rude.", "points": -2.5},
]
TALK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
ANSWER = {"role": "assistant", "content": "Because."}


def group_of(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"rubric": {"criteria": ITEMS}, "trajectories": [{"id": "r", "messages": [*messages, ANSWER]}]}


def said(*, met: bool) -> dict[str, str]:
    inside = json.dumps({"explanation": 'it says "so"', "criteria_met": met}, indent=2)
    return {"text": f"```json\n{inside}\n```"}


def judge_with(template: Any, replies: Any = (), **options: Any) -> calipers.Judge:
    question = {"grading": {"grader_prompt": template}, "absolute": True}
    return calipers.Judge(Scripted(list(replies)), protocol="checklist", question=question, concurrency=1, **options)


async def asked(replies: list[Any], group: dict[str, Any]) -> tuple[list[Any], calipers.GroupResult]:
    heard = Heard()
    result = await judge_with(TEMPLATE, replies, records={"watchers": [heard]}).score_group(group)
    return [request for request, _ in heard.events], result


async def test_a_judge_is_sent_the_users_template_and_nothing_else() -> None:
    requests, result = await asked([said(met=True), said(met=True)], group_of(*TALK))
    talk = "system: Be brief.\n\nuser: Why?\n\nassistant: Because."
    assert [request.messages for request in requests] == [
        ({"role": "user", "content": f"Read this.\n{talk}\nItem: {item}\nAnswer in JSON."},)
        for item in ("[5] Says why.", "[-2.5] Is rude.")
    ]
    assert [request.schema for request in requests] == [None, None]
    (one,) = result.trajectories
    assert one.score == (5 - 2.5) / 5
    assert one.to_dict()["criteria"]["why"] == {"met": True, "reason": 'it says "so"'}


async def test_a_reply_without_a_verdict_is_asked_again_and_then_unknown_never_false() -> None:
    bad = {"text": '{"explanation": "hard to say", "criteria_met": "perhaps"}'}
    requests, result = await asked([bad] * 3 + [said(met=False)] + [bad] * 3, group_of(*TALK))
    (one,) = result.trajectories
    assert one.score is None
    assert one.reward is None
    assert None in {verdict["met"] for verdict in one.to_dict()["criteria"].values()}
    again = [str(request.messages[0]["content"]) for request in requests if request.ask.note]
    assert again
    assert all(text.partition("\n\nAn earlier reply could not be used: ")[0].endswith("JSON.") for text in again)


def test_what_is_filled_in_is_not_searched_again() -> None:
    criterion = Criterion("c", "Copies <<conversation>>.", 2)
    assert filled_grader_prompt(TEMPLATE, "user: <<rubric_item>> \\1", criterion) == (
        "Read this.\nuser: <<rubric_item>> \\1\nItem: [2] Copies <<conversation>>.\nAnswer in JSON."
    )
    own = "<<conversation>>|<<criterion>>|<<points>>"
    assert filled_grader_prompt(own, "x", criterion) == "x|Copies <<conversation>>.|2"


async def test_tool_calls_are_shown_and_images_leave_a_trajectory_without_a_score() -> None:
    call = {"id": "k", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
    used: list[dict[str, Any]] = [
        {"role": "assistant", "content": "Looking.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "k", "content": "found"},
    ]
    requests, _ = await asked([said(met=True), said(met=False)], group_of(*TALK, *used))
    text = str(requests[0].messages[0]["content"])
    assert 'assistant: Looking.\n[{"id": "c1"' in text
    assert '"name": "find"' in text
    assert "tool: found" in text
    picture = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}
    requests, result = await asked([], group_of({"role": "user", "content": [picture]}))
    assert (requests, result.trajectories[0].score) == ([], None)
    assert "images" in str(result.warnings)


@pytest.mark.parametrize("given", [str, Path])
def test_a_file_gives_the_same_judge_as_its_text(tmp_path: Path, given: Any) -> None:
    path = tmp_path / "grader.txt"
    path.write_text(f"\n{TEMPLATE}\n", encoding="utf-8")
    grading = judge_with(given(path)).settings.grading
    assert grading == calipers.Grading(mode="per_criterion", grader_prompt=TEMPLATE)


def test_a_file_without_a_template_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for data, says in (
        (b"Only <<conversation>>.", "has no <<rubric_item>>"),
        (b"", "has no <<conversation>> and no <<rubric_item>>"),
        (b"\xff\xfe", "UTF-8"),
    ):
        path.write_bytes(data)
        with pytest.raises(calipers.CalipersError, match=r"a\.txt") as raised:
            judge_with(path)
        assert says in str(raised.value)
    with pytest.raises(calipers.CalipersError, match=r"none\.txt: there is no such file"):
        judge_with(tmp_path / "none.txt")


def test_what_does_not_go_with_a_grader_prompt_is_an_error() -> None:
    with pytest.raises(calipers.ConfigError, match="set mode='per_criterion'"):
        calipers.Grading(grader_prompt=TEMPLATE)
    with pytest.raises(calipers.ConfigError, match="must be text or a file, not int"):
        judge_with(3)
