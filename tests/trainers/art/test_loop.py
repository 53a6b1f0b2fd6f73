"""Judging inside ART's own gather and its own PipelineTrainer: what a failing judge costs there, and what it does
not.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from art_judges import ContentJudge, honest
from calipers import Judge
from calipers.errors import CalipersError, ConfigError, PermanentError, TransientError
from calipers.trainers.art import judged_by, ruler_score_group
from calipers.types import JudgeRequest

# LiteLLM, which ART imports, otherwise fetches its price list from the network at import.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
art = pytest.importorskip("art", reason="openpipe-art is not installed (pip install 'calipers[art]')")
from art.gather import gather_context_var  # noqa: E402 - only where ART is
from art.pipeline_trainer import PipelineTrainer, make_group_rollout_fn  # noqa: E402 - likewise

pytestmark = [
    # Still the way to gather groups; ART from 0.5.19 has a newer one beside it.
    pytest.mark.filterwarnings("ignore:Awaiting TrajectoryGroup:DeprecationWarning"),
    # Likewise for a PipelineTrainer's settings; both forms of ART take these.
    pytest.mark.filterwarnings("ignore:Direct PipelineTrainer runtime settings:DeprecationWarning"),
]

BAD = "this one breaks the judge"
USER = {"role": "user", "content": "Tell a joke."}


def rollout(text: str, **fields: Any) -> Any:
    said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    # ART's newer PipelineTrainer demands to know how much was generated.
    metrics = {"completion_tokens": 3, **fields.pop("metrics", {})}
    choice = art.types.Choice.model_validate({"logprobs": None, **said})
    return art.Trajectory(messages_and_choices=[USER, choice], metrics=metrics, **fields)


async def ready(*texts: str) -> Any:
    return art.TrajectoryGroup([rollout(text) for text in texts])


def rewards(group: Any) -> list[float]:
    return [trajectory.reward for trajectory in group]


def broken(error: Exception, *words: str) -> ContentJudge:
    """An honest judge that raises ``error`` about groups in which one of these words is said; "" is in every group."""

    def write(opinions: Mapping[str, int], request: JudgeRequest) -> str:
        if any(word in repr(request.messages) for word in words):
            raise error
        return honest(opinions, request)

    return ContentJudge(write=write)


def broken_by(*words: str) -> ContentJudge:
    return broken(TransientError("server", "the judge is out of order"), *words)


def refusing() -> ContentJudge:
    """A judge that is not to be had, whatever it is asked."""
    return broken(PermanentError("not_found", "no such model", fatal=True), "")


# --- after_each -----------------------------------------------------------------------------------------------------


async def gathered(*marks: str, after_each: Any, **options: Any) -> list[Any]:
    """What ART's gather gives back of groups in which these words are said."""
    waiting = [ready("worth 20", f"worth 90 {mark}") for mark in marks]
    found: list[Any] = await art.gather_trajectory_groups(waiting, after_each=after_each, pbar_desc=None, **options)
    return found


async def test_settings_that_cannot_work_are_found_before_the_first_rollout() -> None:
    with pytest.raises(ConfigError, match="write provider/model"):
        judged_by("gpt-5-mini")
    with pytest.raises(ConfigError, match=r"'stream' is not read here"):
        judged_by("embedded", {"stream": True})
    with pytest.raises(ConfigError, match="patience"):
        judged_by(ContentJudge(), patience=0, stop=print)


async def test_lost_groups_are_left_out_said_so_and_end_no_gather_that_tolerates_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = await gathered("one", BAD, "two", after_each=judged_by(broken_by(BAD)))
    assert [rewards(group) for group in found] == [[0.2, 0.9]] * 2
    assert capsys.readouterr().err.count("[calipers] a group is left out: none of the group's 2") == 1


@pytest.mark.parametrize("tolerated", [1, 0.4])
async def test_lost_groups_count_against_the_gathers_max_exceptions(tolerated: float) -> None:
    judged = judged_by(broken_by(BAD))
    assert len(await gathered("one", BAD, "two", after_each=judged, max_exceptions=tolerated)) == 2
    with pytest.raises(CalipersError, match="the judge is out of order"):
        await gathered(BAD, BAD, "two", after_each=judged, max_exceptions=tolerated)


async def test_a_group_that_is_none_of_arts_costs_itself_only(capsys: pytest.CaptureFixture[str]) -> None:
    strange: Any = ["no group"]
    assert gather_context_var.get(None) is None
    assert await judged_by(ContentJudge())(strange) is None
    assert "is not an ART trajectory group" in capsys.readouterr().err


async def test_after_so_many_lost_groups_in_a_row_a_run_is_asked_to_stop_once_or_its_gather_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stopped: list[int] = []
    judged = judged_by(broken_by(BAD), patience=2, stop=lambda: stopped.append(1))
    for good in (False, True, False, False, False):
        await judged(await ready("worth 20", "worth 90" if good else BAD))
    assert stopped == [1]
    told = capsys.readouterr().err
    why = "2 groups in a row were lost (patience=2), the last because none of the group's 2"
    assert told.count(f"the run is asked to stop: {why}") == 1
    assert told.count("[calipers] a group is left out") == 4
    with pytest.raises(CalipersError, match=re.escape(why)):
        await gathered(BAD, BAD, BAD, after_each=judged_by(broken_by(BAD), patience=2))


async def test_a_judge_that_refuses_every_question_ends_a_gather() -> None:
    judge = Judge(refusing())

    async def judged(group: Any) -> Any:
        return await ruler_score_group(group, judge, swallow_exceptions=True)

    for after_each in (judged, judged_by(refusing())):
        with pytest.raises(ConfigError, match="every question was refused"):
            await gathered("one", "two", after_each=after_each)


async def test_one_scored_trajectory_among_unscored_ones_is_no_group_to_learn_from() -> None:
    """ART would train on nothing, and its PipelineTrainer would count it as a sign of a collapsed policy."""

    def only_last(text: str, keys: Sequence[str]) -> dict[str, float]:
        return {keys[-1]: 70}

    judge = Judge(ContentJudge(), parse=only_last, question={"reasks": 0})
    three = await ready("worth 20", "worth 90", "worth 50")
    with pytest.raises(CalipersError, match="only one of the group's 3 trajectories could be scored: "):
        await ruler_score_group(three, judge)
    assert await ruler_score_group(three, judge, swallow_exceptions=True) is None


# --- PipelineTrainer --------------------------------------------------------------------------------------------------


class Backend:
    """What a PipelineTrainer needs of a backend, and a list of what it was given to train on."""

    def __init__(self) -> None:
        self.trained: list[Any] = []
        self.step = 0

    async def register(self, model: Any) -> None: ...

    async def _prepare_backend_for_training(self, model: Any, config: Any) -> tuple[str, str]:
        return "http://127.0.0.1:9/v1", "none"

    def _model_inference_name(self, model: Any, step: int | None = None) -> str:
        return "policy"

    async def _get_step(self, model: Any) -> int:
        return self.step

    async def train(self, model: Any, batch: Sequence[Any], **settings: Any) -> Any:
        self.trained += batch
        self.step += 1
        return SimpleNamespace(step=self.step, metrics={}, checkpoint_path=None, artifact_name=None)


async def trained_on(
    rollout_fn: Callable[..., Any],
    scenarios: Sequence[Any],
    folder: Path,
    *,
    discarded: int = 100,
    known: Callable[[Any], None] = lambda _: None,
) -> list[Any]:
    """The groups a real PipelineTrainer hands to its backend. It gives up after ``discarded`` without variance.

    ``known`` is told the trainer before it trains.
    """
    for needed in ("torch", "transformers", "pyarrow"):
        pytest.importorskip(needed, reason=f"ART's PipelineTrainer needs {needed}: pip install {needed}")
    fields = {"name": "m", "project": "p", "base_model": "none/none", "base_path": str(folder), "report_metrics": []}
    if "run_name" in art.TrainableModel.model_fields:  # ART from 0.5.19
        fields["run_name"] = "r"
    model = art.TrainableModel(**fields)
    backend: Any = Backend()
    await model.register(backend)
    trainer = PipelineTrainer(
        model,
        backend,
        rollout_fn,
        scenarios,
        None,
        num_rollout_workers=2,
        min_batch_size=1,
        eval_every_n_steps=0,
        discard_queue_multiplier=discarded,
        save_checkpoint=False,
    )
    known(trainer)
    await asyncio.wait_for(trainer.train(handle_signals=False), 60)
    return list(backend.trained)


def judged_rollouts(judge: Any, texts: Callable[[Any], list[str]], **fields: Any) -> Any:
    """ART's own rollouts of a scenario, judged; one that is to say "raises" raises."""
    judged = judged_by(judge)

    async def roll_out(model: Any, scenario: Any, config: Any) -> Any:
        waiting = texts(scenario)

        async def single(*_: Any) -> Any:
            text = waiting.pop(0)
            if text == "raises":
                raise RuntimeError(text)
            return rollout(text, **fields)

        return await judged(await make_group_rollout_fn(single, n=len(waiting))(model, scenario, config))

    return roll_out


async def test_the_pipeline_trains_on_judged_groups_and_keeps_what_they_carry(tmp_path: Path) -> None:
    scenarios = [{"id": name, "metadata": {"city": name}} for name in ("oslo", "rome")]
    rollouts = judged_rollouts(
        ContentJudge(),
        lambda one: ["worth 20", f"worth 90 {one['id']}", "raises"],
        metadata={"seed": 7},
        metrics={"steps": 2},
    )
    groups = await trained_on(rollouts, scenarios, tmp_path)
    assert [sorted(rewards(group)) for group in groups] == [[0.2, 0.9]] * 2
    assert sorted(group.metadata["scenario_city"] for group in groups) == ["oslo", "rome"]
    assert [one.message for group in groups for one in group.exceptions] == ["raises"] * 2
    for trajectory in (one for group in groups for one in group):
        assert trajectory.initial_policy_version is not None
        assert trajectory.final_policy_version is not None
        assert (trajectory.metadata, trajectory.metrics["steps"]) == ({"seed": 7}, 2)


async def test_the_pipeline_counts_no_lost_group_as_one_without_variance(tmp_path: Path) -> None:
    """A judge that fails on 12 of 14 groups: constants in their place would have ended the run after the second."""
    scenarios = [{"id": f"{BAD} {number}"} for number in range(12)] + [{"id": "worth 20"}, {"id": "worth 30"}]
    rollouts = judged_rollouts(broken_by(BAD), lambda one: [one["id"], "worth 90"])
    groups = await trained_on(rollouts, scenarios, tmp_path, discarded=2)
    assert sorted(min(rewards(group)) for group in groups) == [0.2, 0.3]


async def test_a_judge_that_refuses_every_question_ends_the_pipeline_by_stop(tmp_path: Path) -> None:
    trainers: list[Any] = []
    begun = 0

    def stop() -> None:
        trainers[0].request_stop()

    judged = judged_by(refusing(), stop=stop)

    async def roll_out(model: Any, scenario: Any, config: Any) -> Any:
        nonlocal begun
        begun += 1
        return await judged(art.TrajectoryGroup([rollout("worth 20"), rollout("worth 90")]))

    assert await trained_on(roll_out, range(1000), tmp_path, known=trainers.append) == []
    assert begun < 20
