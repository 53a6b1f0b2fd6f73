"""Real ART groups after scoring, and what went wrong with them in RULER (openpipe-art 0.5.18).

Numbers are those of the list in docs/trainers/art.md.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

import calipers
from art_judges import ContentJudge
from calipers.errors import CalipersError, ConfigError, InputError, TransientError
from calipers.testing import PositionBias, SimulatedJudge
from calipers.trainers.art import DEFAULT_RUBRIC, TrajectoryScore, ruler, ruler_score_group
from calipers.types import JudgeRequest

# LiteLLM, which ART imports, otherwise fetches its price list from the network at import.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
art = pytest.importorskip("art", reason="openpipe-art is not installed (pip install 'calipers[art]')")
pydantic = pytest.importorskip("pydantic")
# Still the way to gather groups; ART from 0.5.19 has a newer one beside it.
pytestmark = pytest.mark.filterwarnings("ignore:Awaiting TrajectoryGroup:DeprecationWarning")

USER = {"role": "user", "content": "Book me a flight."}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def rollout(text: str, kind: Any = art.Trajectory, **fields: Any) -> Any:
    return kind(messages_and_choices=[USER, said(text)], **fields)


def group_of(*texts: str, **fields: Any) -> Any:
    return art.TrajectoryGroup([rollout(text) for text in texts], **fields)


def lists(*texts: str) -> list[list[dict[str, str]]]:
    return [[USER, said(text)] for text in texts]


def choice(text: str) -> Any:
    """What an OpenAI client returns, as ART keeps it."""
    fields = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": said(text)}
    return art.types.Choice.model_validate(fields)


def rewards(group: Any) -> list[float]:
    return [trajectory.reward for trajectory in group]


async def scored(group: Any, judge: Any = None, **options: Any) -> Any:
    after = await ruler_score_group(group, judge or ContentJudge(), **options)
    assert after is not None
    return after


# --- what comes back ------------------------------------------------------------------------------------------------


async def test_ruler_gives_scores_in_input_order_with_ids_from_one() -> None:
    scores = await ruler(lists("worth 20", "worth 90", "worth 55"), ContentJudge())
    assert scores == [
        TrajectoryScore(trajectory_id=str(place), explanation=f"I like {place}", score=score)
        for place, score in enumerate((0.2, 0.9, 0.55), start=1)
    ]
    assert await ruler([]) == []
    judge = calipers.Judge(ContentJudge(), parse=lambda *_: {}, question={"reasks": 0})
    with pytest.raises(CalipersError, match="2 of 2 trajectories unscored: 1, 2 abstained: parse= returned no score"):
        await ruler(lists("worth 20", "worth 90"), judge)


async def test_members_without_a_score_are_dropped_counted_and_named_in_the_log() -> None:
    def never_the_first(text: str, keys: Sequence[str]) -> dict[str, float]:
        return dict.fromkeys(keys[1:], 70)

    judge = calipers.Judge(ContentJudge(), parse=never_the_first, question={"reasks": 0})
    after = await scored(group_of("worth 20", "worth 90", "worth 50"), judge)
    assert rewards(after) == [0.7, 0.7]
    assert after.metrics["calipers/unscored"] == 1
    assert [line for line in after.logs if "is left out (abstained)" in line]


async def test_a_group_without_any_score_raises_or_is_swallowed(capsys: pytest.CaptureFixture[str]) -> None:
    group, judge = group_of("worth 20", "worth 90"), ContentJudge(write=lambda *_: "I would rather not.")
    with pytest.raises(CalipersError, match="none of the group's 2 trajectories could be scored"):
        await ruler_score_group(group, judge)
    assert await ruler_score_group(group, judge, swallow_exceptions=True) is None
    assert capsys.readouterr().err.startswith("[calipers] a group is left out: none of the group's 2")


async def test_settings_that_cannot_work_raise_even_when_exceptions_are_swallowed() -> None:
    """A missing key would otherwise drop every group of a run, one by one."""
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        await ruler_score_group(group_of("worth 20", "worth 90"), swallow_exceptions=True)
    with pytest.raises(InputError, match="for message lists use ruler"):
        await ruler_score_group(lists("worth 1"), ContentJudge())


async def test_a_group_whose_rollouts_all_failed_comes_back_empty_with_its_exceptions() -> None:
    after = await scored(art.TrajectoryGroup([ValueError("rollout died")]), "openai/o3")
    assert len(after) == 0
    assert after.exceptions[0].message == "rollout died"


async def test_a_judges_own_reward_range_and_rubric_hold_until_another_rubric_is_given() -> None:
    backend = ContentJudge()
    judge = calipers.Judge(backend, reward={"range": (-1.0, 1.0)}, rubric="Own rubric.")
    group = group_of("worth 20", "worth 90")
    for after in (await scored(group, judge), await scored(group, judge, rubric="Another rubric.")):
        assert rewards(after) == pytest.approx([-0.6, 0.8])
        assert [one.metrics["ruler_score"] for one in after] == [0.2, 0.9]
    systems = [str(request.messages[0]["content"]) for request in backend.asked]
    assert ["Own rubric." in text for text in systems] == [True, False]
    assert ["Another rubric." in text for text in systems] == [False, True]


async def test_what_a_judge_cost_is_put_beside_arts_other_costs() -> None:
    from art.metrics import MetricsBuilder  # noqa: PLC0415 - only where ART is

    builder = MetricsBuilder(cost_context="train")
    judge = ContentJudge(usage=calipers.Usage(100, 10, cost_usd=0.25))
    with builder.activate_context():
        await scored(group_of("worth 20", "worth 90"), judge)
        await scored(group_of("worth 30", "worth 90"))  # its cost is not known
    assert (await builder.flush())["costs/train/judge/ruler"] == 0.25


# --- what RULER's documentation promises ----------------------------------------------------------------------------


async def test_02_additional_histories_are_judged_instead_of_raising_through_swallow_exceptions() -> None:
    history = get_args(art.Trajectory.model_fields["additional_histories"].annotation)[0]
    further = history(messages_and_choices=[USER, said("a second conversation, worth 90")])
    group = art.TrajectoryGroup(
        [rollout("worth 20"), rollout("the first conversation", additional_histories=[further])]
    )
    judge = ContentJudge()
    assert rewards(await scored(group, judge, swallow_exceptions=True)) == [0.2, 0.9]
    assert "a second conversation" in judge.questions[0]


@pytest.mark.parametrize("text", ["[/INST]", "[bold", "[/red]", "\x1b[31m\n\x07", "", "\ud800"])
async def test_02_an_error_text_with_markup_is_printed_and_not_a_crash(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(opinions: Mapping[str, int], request: JudgeRequest) -> str:
        raise TransientError("server", text)

    group = group_of("worth 20", "worth 90")
    assert await ruler_score_group(group, ContentJudge(write=fail), swallow_exceptions=True) is None
    printed = capsys.readouterr().err
    assert "[calipers] a group is left out" in printed
    assert printed.removesuffix("\n").isprintable()


# --- the other defects ----------------------------------------------------------------------------------------------


async def finishing(text: str, turn: asyncio.Event, then: asyncio.Event | None) -> Any:
    await turn.wait()
    if then is not None:
        then.set()
    return rollout(text)


def in_order(texts: Sequence[str]) -> list[Awaitable[Any]]:
    """Rollouts of ``texts`` that finish exactly in this order."""
    turns = [asyncio.Event() for _ in texts]
    turns[0].set()
    return [finishing(text, turn, then) for text, turn, then in zip(texts, turns, [*turns[1:], None], strict=True)]


async def test_09_the_order_in_which_rollouts_finish_changes_no_reward() -> None:
    """ART lists rollouts as they finish; a judge that favours its first candidate must favour none of them for that."""
    texts = ["a fast one", "a slow one", "one between"]
    found = []
    for order in (texts, texts[::-1], [texts[1], texts[2], texts[0]]):
        judge = SimulatedJudge(lambda *_: 0.5, PositionBias(0.4))
        (group,) = await art.gather_trajectory_groups(
            [art.TrajectoryGroup(in_order(order))],
            after_each=lambda group, judge=judge: ruler_score_group(group, judge),
            pbar_desc=None,
        )
        assert [one.messages()[-1]["content"] for one in group] == order
        found.append(dict(zip(order, rewards(group), strict=True)))
    assert len(set(found[0].values())) > 1
    assert found[0] == found[1] == found[2]


async def test_10_equal_scores_for_all_are_pointed_out() -> None:
    after = await scored(group_of("worth 50", "it is worth 50"))
    assert rewards(after) == [0.5, 0.5]
    assert "calipers: all scores are equal, so nothing is learned from this group" in after.logs


async def test_12_tools_are_shown_also_where_the_first_trajectory_has_none() -> None:
    tool = {"type": "function", "function": {"name": "cancel_flight", "description": "", "parameters": {}}}
    judge = ContentJudge()
    await scored(art.TrajectoryGroup([rollout("a"), rollout("b", tools=[tool])]), judge)
    assert "cancel_flight" in judge.questions[0]


async def test_13_the_group_given_is_left_as_it_was_and_shares_no_list_or_dict_with_the_copy() -> None:
    before = group_of("worth 20", "worth 90", metadata={"scenario": "s1"})
    dump = before.model_dump_json()
    after = await scored(before)
    for one in after:
        one.messages_and_choices.append({"role": "user", "content": "more"})
        one.metadata["new"] = 1
    after.metadata["new"] = 1
    after.log("new")
    assert before.model_dump_json() == dump


async def test_13_everything_else_of_group_and_trajectories_is_kept_and_rulers_metrics_and_log_lines_added() -> None:
    start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    fields: dict[str, Any] = {
        "initial_policy_version": 3, "final_policy_version": 4, "start_time": start, "metadata": {"seed": 7},
        "metrics": {"steps": 2}, "logs": ["began"],
    }  # fmt: skip
    before = art.TrajectoryGroup(
        [rollout("worth 20", reward=3.0, **fields), rollout("worth 90", reward=-1.0, **fields)],
        exceptions=[ValueError("a rollout died")],
        metadata={"scenario": "oslo"},
        metrics={"wall": 1.5},
        logs=["group began"],
    )
    after = await scored(before)
    assert rewards(after) == [0.2, 0.9]
    assert after.exceptions == before.exceptions
    assert (after.metadata, after.metrics["wall"], after.logs) == ({"scenario": "oslo"}, 1.5, ["group began"])
    own = {"independent_reward": 3.0, "ruler_score": 0.2}, {"independent_reward": -1.0, "ruler_score": 0.9}
    for number, (one, metrics) in enumerate(zip(after, own, strict=True), start=1):
        assert (one.initial_policy_version, one.final_policy_version, one.start_time) == (3, 4, start)
        assert (one.metadata, one.metrics) == ({"seed": 7}, {"steps": 2, **metrics})
        assert one.logs == ["began", f"RULER explanation: I like {number}"]


async def test_13_subclasses_of_group_and_trajectory_keep_their_own_fields_and_private_ones() -> None:
    """ART's newer trajectories count privately which policy wrote which tokens."""

    class Scenario(art.Trajectory):  # type: ignore[misc, name-defined]  # ART has no types where it is not installed
        scenario: str
        _counts: dict[int, int] = pydantic.PrivateAttr(default_factory=dict)

    class Batch(art.TrajectoryGroup):  # type: ignore[misc, name-defined]  # likewise
        step: int = 0
        _secret: str = pydantic.PrivateAttr(default="")

    before = Batch([rollout(text, Scenario, scenario="oslo") for text in ("worth 20", "worth 90")])
    before.step, before._secret = 12, "kept"
    for one in before:
        one._counts = {3: 10, 4: 2}
    after = await scored(before)
    assert (type(after), after.step, after._secret) == (Batch, 12, "kept")
    assert [(type(one), one.scenario, one._counts) for one in after] == [(Scenario, "oslo", {3: 10, 4: 2})] * 2


async def test_14_scoring_twice_keeps_the_independent_reward() -> None:
    before = art.TrajectoryGroup([rollout("worth 20", reward=5.0), rollout("worth 90", reward=1.0)])
    twice = await scored(await scored(before))
    assert [one.metrics["independent_reward"] for one in twice] == [5.0, 1.0]


async def test_15_message_objects_are_as_good_as_dicts() -> None:
    objects = [[USER, choice(text).message] for text in ("worth 20", "worth 90")]
    assert type(objects[0][1]).__name__ == "ChatCompletionMessage"
    assert [one.score for one in await ruler(objects, ContentJudge())] == [0.2, 0.9]


async def test_16_a_rubric_reaches_the_judge_as_written_and_none_is_the_default() -> None:
    rubric = 'Rules:\n    - {indented}\n\n  - "quoted"'
    for given, seen in ((rubric, rubric), (None, DEFAULT_RUBRIC), (DEFAULT_RUBRIC, DEFAULT_RUBRIC)):
        judge = ContentJudge()
        await ruler(lists("a", "b"), judge, rubric=given)
        system = str(judge.asked[0].messages[0]["content"])
        assert seen in system
        assert "None" not in system


# --- ART's newer form -----------------------------------------------------------------------------------------------


def recorded(text: str) -> Any:
    """What ART 0.5.23 keeps of one call; earlier versions have no such thing."""
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).isoformat()
    reply = {
        "id": "c", "object": "chat.completion", "created": 1, "model": "policy",
        "choices": [choice(text).model_dump()],
    }  # fmt: skip
    exchange = {
        "request": {"messages": [USER]}, "response": reply, "model": "policy", "start_time": now, "end_time": now,
    }  # fmt: skip
    return art.Trajectory.model_validate({"exchanges": {"chat_completions": [exchange]}})


async def test_trajectories_of_recorded_exchanges_are_scored_and_keep_them() -> None:
    if "exchanges" not in art.Trajectory.model_fields:
        pytest.skip("this openpipe-art (before 0.5.19) records no exchanges")
    before = art.TrajectoryGroup([recorded("worth 20"), recorded("worth 90")])
    after = await scored(before)
    assert rewards(after) == [0.2, 0.9]
    assert [one.exchanges for one in after] == [one.exchanges for one in before]
