"""Weighted advantages in TRL's own trainers: after every normalisation, and bit-equal with a weight of 1."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calipers import Judge
from calipers.errors import ConfigError
from calipers.testing import Noise, SimulatedJudge
from calipers.trainers.trl import reliability_weight, reward_func, weighted
from calipers.types import GroupResult, TrajectoryResult

os.environ.setdefault("HF_HUB_OFFLINE", "1")
torch = pytest.importorskip("torch", reason="PyTorch is not installed; .ci/run has a step with it")
pytest.importorskip("trl", reason="TRL is not installed (pip install 'calipers[trl]')")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]

from trl_runs import train  # noqa: E402 - needs TRL

WEIGHTS = [0.0] * 4 + [0.25] * 4 + [1.0] * 4 + [3.0] * 4
SETTINGS: list[dict[str, Any]] = [
    *({"scale_rewards": scale} for scale in ("group", "batch", "none")),
    *({"loss_type": loss} for loss in ("grpo", "bnpo", "dr_grpo", "cispo")),
    {"multi_objective_aggregation": "normalize_then_sum"},
    {"trainer": "RLOO"},
    {"trainer": "RLOO", "normalize_advantages": True},
]


def recording(kind: Any, kept: list[Any]) -> Any:
    """A subclass that keeps the advantages it passes on."""

    class Recording(kind):  # type: ignore[misc]  # the class is an argument
        def _generate_and_score_completions(self, *args: Any, **kwargs: Any) -> Any:
            batch = super()._generate_and_score_completions(*args, **kwargs)
            kept.append(batch["advantages"].clone())
            return batch

    return Recording


def run(folder: Path, weights: list[float] | None, **settings: Any) -> tuple[Any, Any, Any]:
    """Advantages before and after weighting, and the trained parameters."""
    source = SimpleNamespace(weights=None)
    before: list[Any] = []
    after: list[Any] = []

    def rewards(completions: Any, **_: Any) -> list[float]:
        source.weights = weights
        return [len(set(text.split())) / 6 + len(text) / 100 for text in completions]

    made: list[Any] = []
    settings = {"learning_rate": 1e-2, "changed": made.append, **settings}
    train([rewards], folder, kind=lambda base: recording(weighted(recording(base, before), source), after), **settings)
    return before[0], after[0], torch.cat([one.detach().flatten() for one in made[0].model.parameters()])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_weights_multiply_the_advantages_and_1_changes_nothing(tmp_path: Path, settings: dict[str, Any]) -> None:
    plain, same, trained = run(tmp_path, None, **settings)
    assert torch.equal(plain, same)
    assert plain.abs().max() > 0.01
    ones, unchanged, trained_with_1 = run(tmp_path, [1.0] * 16, **settings)
    assert torch.equal(ones, plain)
    assert torch.equal(unchanged, plain)
    assert torch.equal(trained_with_1, trained)
    unweighted, scaled, other = run(tmp_path, WEIGHTS, **settings)
    assert torch.equal(unweighted, plain)
    assert torch.equal(scaled, plain * torch.tensor(WEIGHTS).to(plain))
    assert not torch.equal(other, trained)


def test_a_judges_reliability_reaches_the_advantages(tmp_path: Path) -> None:
    judge = Judge(SimulatedJudge(lambda *_: 0.5, Noise(0.1), seed=2), orders=2)
    reward = reward_func(
        judge, num_generations=4, only_reward=True, blocking=True, weigh=reliability_weight, check=False
    )
    before: list[Any] = []
    after: list[Any] = []
    kept: list[Any] = []

    def kind(base: Any) -> Any:
        return recording(weighted(recording(base, before), reward), after)

    def judged(prompts: Any, completions: Any, **columns: Any) -> Any:
        found = reward(prompts, completions, **columns)
        kept.append(list(reward.weights))
        return found

    train([judged], tmp_path, kind=kind)
    weights = torch.tensor(kept[0])
    assert (weights.reshape(4, 4) == weights.reshape(4, 4)[:, :1]).all()
    assert weights.min() < 0.5, "this judge tells nothing but noise"
    assert torch.equal(after[0], before[0] * weights.to(before[0]))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("scale", ["group", "batch"])
def test_settings_without_effect_are_named_once(tmp_path: Path, scale: str) -> None:
    judge = Judge(SimulatedJudge(lambda *_: 0.5, Noise(0.1), seed=2), orders=2, reward="shrunk")
    reward = reward_func(
        judge, num_generations=4, only_reward=True, blocking=True, weigh=reliability_weight, check=False
    )
    with pytest.warns(UserWarning, match="judge: ") as found:
        train([reward], tmp_path, steps=2, scale_rewards=scale)
    said = [str(one.message) for one in found if str(one.message).startswith("judge: ")]
    assert sum("weigh= has no effect" in one for one in said) == 1
    assert sum("reward='shrunk' has no effect here" in one for one in said) == (scale == "group")


@pytest.mark.parametrize("orders", [1, 2])
def test_weights_that_nothing_is_known_of_are_named(orders: int) -> None:
    judge = Judge(SimulatedJudge(lambda *_: 0.5, Noise(0.1)), orders=orders)
    reward = reward_func(
        judge, num_generations=2, only_reward=False, blocking=True, weigh=reliability_weight, check=False
    )
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            reward(["Go."] * 2, ["one", "two"])
    said = [str(one.message) for one in found]
    assert sum("judge: weights by reliability have no effect" in one for one in said) == (orders == 1)
    assert (reward.weights == [1.0, 1.0]) == (orders == 1)


@pytest.mark.parametrize("weights", [[1.0] * 15, [float("nan")] * 16, [-1.0] * 16, [float("inf")] * 16])
def test_weights_that_are_not_the_batchs_are_an_error(tmp_path: Path, weights: list[float]) -> None:
    with pytest.raises(ConfigError, match=r"weights for a batch of 16 rows|the weight of row 1"):
        run(tmp_path, weights)


def test_weights_that_make_an_advantage_infinite_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"an advantage becomes infinite"):
        run(tmp_path, [3.4e38] * 16)


def test_a_source_without_weights_is_refused_when_the_trainer_is_made() -> None:
    class Trainer:
        def _generate_and_score_completions(self) -> None: ...

    judge = Judge(SimulatedJudge(lambda *_: 0.5))
    unweighted = reward_func(judge, num_generations=2, only_reward=False, blocking=True, check=False)
    with pytest.raises(ConfigError, match="gives no weights"):
        weighted(Trainer, unweighted)
    for source in (None, lambda *_: [0.0]):
        with pytest.raises(ConfigError, match="has no weights"):
            weighted(Trainer, source)  # type: ignore[arg-type]  # the mistake
    weighted(Trainer, reward_func(judge, num_generations=2, only_reward=False, blocking=True, weigh=reliability_weight))


def test_a_batch_in_which_every_judgment_failed_tells_nothing_of_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge(SimulatedJudge(lambda *_: 0.5, Noise(0.1)), orders=2)
    reward = reward_func(
        judge, num_generations=2, only_reward=False, blocking=True, weigh=reliability_weight, check=False
    )
    score = reward.run.score
    failed = [GroupResult("f", "failed", tuple(TrajectoryResult(one, "failed") for one in "12"))]

    async def fails(_: Any) -> list[GroupResult]:
        return failed

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr(reward.run, "score", fails)
        reward(["Go."] * 2, ["one", "two"])
        assert reward.weights == [1.0, 1.0]
        monkeypatch.setattr(reward.run, "score", score)
        reward(["Go."] * 2, ["one", "two"])
