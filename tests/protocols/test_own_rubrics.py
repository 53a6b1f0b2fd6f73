"""Each judge of a panel may be asked with a rubric of its own."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from calipers import ConfigError, Judge
from calipers.config.settings import Settings
from calipers.ledger import Replayer, open_ledger
from calipers.testing import SimulatedJudge
from calipers.types import GroupResult, JudgeRequest

GROUP: dict[str, Any] = {
    "group_id": "g",
    "context": [{"role": "user", "content": "What is 6 * 7?"}],
    "trajectories": [
        {"id": name, "messages": [{"role": "assistant", "content": f"It is {name}."}]} for name in ("42", "41")
    ],
}


def judges() -> list[SimulatedJudge]:
    return [SimulatedJudge({"42": 0.9, "41": 0.2}, model=name) for name in ("first", "second")]


def asked_of(group: dict[str, Any], **options: Any) -> dict[int, JudgeRequest]:
    """The first question to each judge, by slot."""
    seen: dict[int, JudgeRequest] = {}
    observer = {"observer": lambda request, *_: seen.setdefault(request.ask.slot, request)}
    judge = Judge(judges(), records=observer, **options)
    asyncio.run(judge.score_group(group))
    return seen


def standards(request: JudgeRequest) -> str:
    return str(request.messages[0]["content"]).partition("Standards:\n")[2].partition("\n\nWhat you will read")[0]


def test_only_the_standards_of_the_judge_that_has_its_own_differ():
    usual = asked_of(GROUP, rubric="Be usual.")
    own = asked_of(GROUP, rubric="Be usual.", panel={"rubrics": [None, "Name the unit."]})
    assert own[0].messages == usual[0].messages
    assert standards(own[1]) == "Name the unit."
    assert own[1].messages[1:] == usual[1].messages[1:]
    assert own[1].schema == usual[1].schema


def test_a_group_with_a_rubric_keeps_it():
    own = asked_of(GROUP | {"rubric": "The group's."}, panel={"rubrics": ["Mine.", None]})
    assert {standards(request) for request in own.values()} == {"The group's."}


def test_criteria_are_lines_of_a_rubric():
    own = asked_of(GROUP, panel={"rubrics": [[{"text": "Is right."}, {"text": "Lies.", "points": -1}], None]})
    assert standards(own[0]) == "- Is right.\n- Avoid: Lies."


def test_the_marker_occurs_in_no_judges_rubric():
    marker = asked_of(GROUP)[0].view.marker
    own = asked_of(GROUP, panel={"rubrics": [f"Beware of {marker}.", None]})
    assert own[0].view.marker not in f"Beware of {marker}."


def test_a_run_with_own_rubrics_replays(tmp_path: Path):
    ledger = open_ledger(tmp_path / "l.db")
    judge = Judge(judges(), ledger=ledger, panel={"rubrics": [None, "Name the unit."], "mode": "cycle"}, orders=2)
    first = asyncio.run(judge.score_group(GROUP))
    assert Settings.of(judge.settings.to_dict()).judge_rubrics == (None, "Name the unit.")
    store = Replayer(ledger)
    again = Judge.replaying(Settings.of(store.recorded.settings), store)

    async def replayed() -> list[GroupResult]:
        return [result async for result in again.score_groups(store.groups())]

    assert [one.to_dict() for one in asyncio.run(replayed())] == [first.to_dict()]
    ledger.close()


@pytest.mark.parametrize(("judge", "options", "words"), [
    (judges()[:1], {"panel": {"rubrics": ["x"]}}, "for one judge use rubric="),
    (judges(), {"panel": {"rubrics": ["x"]}}, "give one for each of the 2 judges"),
    (judges(), {"panel": {"rubrics": ["x", ""]}}, "a rubric is empty"),
    (judges(), {"panel": {"rubrics": {"openai/x": "x"}}}, "is none of the judges"),
    (judges(), {"panel": {"rubrics": ["x", 3]}}, "it must be text"),
    (judges(), {"panel": {"rubrics": ["x", None]}, "protocol": "checklist", "rubric": [{"text": "a"}]}, "no score in"),
])  # fmt: skip
def test_what_cannot_be_is_refused_with_a_remedy(judge: Any, options: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        Judge(judge, **options)
