"""Weighted advantages in ART's own function that makes training data of groups, taken from its source."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from itertools import takewhile
from types import SimpleNamespace
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.testing import Noise, SimulatedJudge
from calipers.trainers.art import ruler_score_group, weighted
from engine_source import folder_of, taken

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
art = pytest.importorskip("art", reason="openpipe-art is not installed (pip install 'calipers[art]')")


def tokenized(_: Any, __: Any, history: Any, advantage: float, *___: Any, **____: Any) -> Any:
    """What ART makes of a trajectory, without a tokenizer."""
    text = history.messages_and_choices[-1]["content"]
    return SimpleNamespace(
        text=text, advantage=advantage, token_ids=[1, 2], logprobs=[math.nan, -1.0], assistant_mask=[0, 1]
    )


@pytest.fixture
def tokenize() -> Callable[..., Any]:
    path = folder_of("art") / "preprocessing" / "tokenize.py"
    own = {"History": SimpleNamespace, "tokenize_trajectory": tokenized}
    found: Callable[..., Any] = taken(
        path, "tokenize_trajectory_groups", math=math, random=random, takewhile=takewhile, **own
    ).tokenize_trajectory_groups
    return found


async def judged(*weights: float | None) -> list[Any]:
    """Groups that calipers judged, with these metrics instead of their own weights."""
    groups = []
    for number, weight in enumerate(weights):
        texts = [f"{number}, worth {share}" for share in (20, 90, 50, 70)]
        quality = {"1": 0.2, "2": 0.9, "3": 0.5, "4": 0.7}
        judge = calipers.Judge(SimulatedJudge(quality, Noise(0.1)), orders=2)
        messages = [[{"role": "user", "content": "Go."}, {"role": "assistant", "content": one}] for one in texts]
        made = await ruler_score_group(
            art.TrajectoryGroup([art.Trajectory(messages_and_choices=m) for m in messages]), judge
        )
        assert made is not None
        assert 0 < made.metrics["calipers/weight"] <= 1
        assert made.metrics["calipers/weight"] == math.sqrt(made.metrics["calipers/reliability"])
        if weight is None:
            del made.metrics["calipers/weight"]
        else:
            made.metrics["calipers/weight"] = weight
        groups.append(made)
    return groups


def advantages(tokenize: Callable[..., Any], groups: list[Any], *, scale: bool) -> list[tuple[str, float]]:
    random.seed(3)
    return [(one.text, one.advantage) for one in tokenize(None, groups, True, scale)]


@pytest.mark.parametrize("scale", [True, False])
async def test_weights_multiply_advantages_and_1_changes_nothing(tokenize: Callable[..., Any], *, scale: bool) -> None:
    plain = advantages(tokenize, await judged(1.0, 1.0, 1.0), scale=scale)
    assert len(plain) == 12
    assert advantages(weighted(tokenize), await judged(1.0, 1.0, None), scale=scale) == plain
    some = advantages(weighted(tokenize), await judged(0.0, 0.25, 3.0), scale=scale)
    factors = {"0": 0.0, "1": 0.25, "2": 3.0}
    assert some == [(text, factors[text[0]] * one) for text, one in plain]


@pytest.mark.parametrize("weight", [-1.0, math.inf, math.nan, 1e39, 3.4e38, "abc", "2"])
async def test_a_weight_that_is_no_number_is_an_error(tokenize: Callable[..., Any], weight: float) -> None:
    with pytest.raises(ConfigError, match=r"must be a finite number, 0 or more|advantages become too large"):
        advantages(weighted(tokenize), await judged(weight), scale=True)


async def test_one_answer_leaves_a_group_without_a_weight() -> None:
    judge = calipers.Judge(SimulatedJudge({"1": 0.2, "2": 0.9}))
    messages = [[{"role": "user", "content": "Go."}, {"role": "assistant", "content": one}] for one in "ab"]
    made = await ruler_score_group(
        art.TrajectoryGroup([art.Trajectory(messages_and_choices=m) for m in messages]), judge
    )
    assert made is not None
    assert not made.metrics.keys() & {"calipers/weight", "calipers/reliability"}


async def test_arts_pipeline_skips_groups_whose_scores_are_noise_alone_where_rewards_are_weighted() -> None:
    """``reward="weighted"`` makes them 0.0 for all; plain rewards of such a group differ, and ART trains on it."""
    path = folder_of("art") / "pipeline_trainer" / "trainer.py"
    skips = taken(path, "PipelineTrainer._group_zero_variance")._group_zero_variance
    noise = []
    for number in range(12):
        messages = [
            [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "content": one}] for one in "abcd"
        ]
        made = []
        for reward in ("weighted", None):
            judge = calipers.Judge(SimulatedJudge(lambda *_: 0.5, Noise(0.1)), orders=2, reward=reward)
            group = art.TrajectoryGroup([art.Trajectory(messages_and_choices=m) for m in messages])
            found = await ruler_score_group(group, judge)
            assert found is not None
            made.append(found)
        noise.append(made[0].metrics["calipers/reliability"] == 0)
        assert skips(made[0]) == noise[-1]
        assert not skips(made[1])
    assert set(noise) == {True, False}
