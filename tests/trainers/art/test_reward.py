"""The ART adapter against the real openpipe-art: what a group looks like after scoring, and inside ART's own gather."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest

import calipers
from art_judges import ContentJudge
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.testing import PositionBias, SimulatedJudge
from calipers.trainers.art import TrajectoryScore, ruler, ruler_score_group

# LiteLLM, which ART imports, otherwise fetches its price list from the network at import.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
art = pytest.importorskip("art", reason="openpipe-art is not installed (pip install 'calipers[art]')")
# Still the way to gather groups; ART from 0.5.19 has a newer one beside it.
pytestmark = pytest.mark.filterwarnings("ignore:Awaiting TrajectoryGroup:DeprecationWarning")


def rollout(text: str, **fields: Any) -> Any:
    messages = [{"role": "user", "content": "Tell a joke."}, {"role": "assistant", "content": text}]
    return art.Trajectory(messages_and_choices=messages, **fields)


def group_of(*texts: str, **fields: Any) -> Any:
    return art.TrajectoryGroup([rollout(text) for text in texts], **fields)


def lists(*texts: str) -> list[list[dict[str, str]]]:
    return [rollout(text).messages() for text in texts]


def rewards(group: Any) -> list[float]:
    return [trajectory.reward for trajectory in group]


def partly(text: str, keys: Sequence[str]) -> dict[str, float]:
    """A reader that never finds a score for the first candidate shown."""
    return dict.fromkeys(keys[1:], 70)


# --- what comes back ------------------------------------------------------------------------------------------------


async def test_ruler_gives_scores_in_input_order_with_ids_from_one() -> None:
    scores = await ruler(lists("worth 20", "worth 90", "worth 55"), ContentJudge())
    assert [one.trajectory_id for one in scores] == ["1", "2", "3"]
    assert [one.score for one in scores] == [0.2, 0.9, 0.55]
    assert all(isinstance(one, TrajectoryScore) for one in scores)
    assert [one.explanation for one in scores] == ["I like 1", "I like 2", "I like 3"]
    assert await ruler([]) == []


async def test_ruler_raises_one_sentence_with_ids_and_reasons_when_any_is_unscored() -> None:
    judge = calipers.Judge(ContentJudge(), parse=lambda *_: {}, question={"reasks": 0})
    with pytest.raises(
        CalipersError, match="left 2 of 2 trajectories unscored: 1, 2 abstained: parse= returned no score"
    ):
        await ruler(lists("worth 20", "worth 90"), judge)


async def test_a_scored_group_has_rulers_rewards_metrics_and_log_lines() -> None:
    before = art.TrajectoryGroup([rollout("worth 20", reward=3.0), rollout("worth 90", reward=-1.0)])
    after = await ruler_score_group(before, ContentJudge())
    assert isinstance(after, art.TrajectoryGroup)
    assert rewards(after) == [0.2, 0.9]
    assert [one.metrics for one in after] == [
        {"independent_reward": 3.0, "ruler_score": 0.2},
        {"independent_reward": -1.0, "ruler_score": 0.9},
    ]
    assert [one.logs for one in after] == [["RULER explanation: I like 1"], ["RULER explanation: I like 2"]]


async def test_the_group_given_is_left_as_it_was_and_shares_no_list_or_dict_with_the_copy() -> None:
    before = group_of("worth 20", "worth 90", metadata={"scenario": "s1"})
    dump = before.model_dump_json()
    after = await ruler_score_group(before, ContentJudge())
    assert after is not None
    for one in after:
        one.messages_and_choices.append({"role": "user", "content": "more"})
        one.metadata["new"] = 1
    after.metadata["new"] = 1
    after.log("new")
    assert before.model_dump_json() == dump


async def test_members_without_a_score_are_dropped_counted_and_named_in_the_log() -> None:
    judge = calipers.Judge(ContentJudge(), parse=partly, question={"reasks": 0})
    after = await ruler_score_group(group_of("worth 20", "worth 90", "worth 50"), judge)
    assert after is not None
    assert rewards(after) == [0.7, 0.7]
    assert after.metrics["calipers/unscored"] == 1
    assert [line for line in after.logs if "is left out (abstained)" in line]


async def test_a_group_without_any_score_raises_or_is_swallowed(capsys: pytest.CaptureFixture[str]) -> None:
    group, judge = group_of("worth 20", "worth 90"), ContentJudge(write=lambda *_: "I would rather not.")
    with pytest.raises(CalipersError, match="none of the group's 2 trajectories could be scored"):
        await ruler_score_group(group, judge)
    assert await ruler_score_group(group, judge, swallow_exceptions=True) is None
    assert capsys.readouterr().err.startswith("[calipers] a group is left out: none of the group's 2")


async def test_settings_that_cannot_work_raise_even_when_exceptions_are_swallowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A missing key would otherwise drop every group of a run, one by one."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        await ruler_score_group(group_of("worth 20", "worth 90"), swallow_exceptions=True)
    with pytest.raises(InputError, match="for message lists use ruler"):
        await ruler_score_group(lists("worth 1"), ContentJudge())


async def test_a_group_whose_rollouts_all_failed_comes_back_empty_with_its_exceptions() -> None:
    after = await ruler_score_group(art.TrajectoryGroup([ValueError("rollout died")]), "openai/o3")
    assert after is not None
    assert len(after) == 0
    assert after.exceptions[0].message == "rollout died"


async def test_equal_scores_for_all_are_pointed_out() -> None:
    after = await ruler_score_group(group_of("worth 50", "it is worth 50"), ContentJudge())
    assert after is not None
    assert rewards(after) == [0.5, 0.5]
    assert "calipers: all scores are equal, so nothing is learned from this group" in after.logs


async def test_a_judges_own_reward_range_reaches_reward_and_leaves_the_score_in_0_to_1() -> None:
    judge = calipers.Judge(ContentJudge(), reward={"range": (-1.0, 1.0)})
    after = await ruler_score_group(group_of("worth 20", "worth 90"), judge)
    assert after is not None
    assert rewards(after) == pytest.approx([-0.6, 0.8])
    assert [one.metrics["ruler_score"] for one in after] == [0.2, 0.9]


async def test_a_judges_own_rubric_holds_until_another_is_given() -> None:
    backend = ContentJudge()
    judge = calipers.Judge(backend, rubric="Own rubric.")
    await ruler(lists("worth 20", "worth 90"), judge)
    await ruler(lists("worth 20", "worth 90"), judge, rubric="Another rubric.")
    systems = [str(request.messages[0]["content"]) for request in backend.asked]
    assert ["Own rubric." in text for text in systems] == [True, False]
    assert ["Another rubric." in text for text in systems] == [False, True]


async def test_what_a_judge_cost_is_put_beside_arts_other_costs() -> None:
    from art.metrics import MetricsBuilder  # noqa: PLC0415 - only where ART is

    builder = MetricsBuilder(cost_context="train")
    judge = ContentJudge(usage=calipers.Usage(100, 10, cost_usd=0.25))
    with builder.activate_context():
        await ruler_score_group(group_of("worth 20", "worth 90"), judge)
        await ruler_score_group(group_of("worth 30", "worth 90"), ContentJudge())  # its cost is not known
    assert (await builder.flush())["costs/train/judge/ruler"] == 0.25


# --- inside ART -----------------------------------------------------------------------------------------------------


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


async def test_the_order_in_which_rollouts_finish_changes_no_reward() -> None:
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
