"""What a score becomes in a trainer: the tables of docs/rewards.md, in TRL's and verl's own code."""

from __future__ import annotations

import math
import os
import random
import statistics
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from calipers.rewards.identity import Identity
from calipers.rewards.reliable import Shrunk, Weighted, standardised
from calipers.types import Scores
from viewed import view_of

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]
with_trl = pytest.mark.skipif(find_spec("trl") is None, reason="TRL is not installed (pip install 'calipers[trl]')")
with_verl = pytest.mark.skipif(find_spec("verl") is None, reason="verl is not installed (pip install 'calipers[verl]')")

SIZE = 4
SPREADS, LEVELS = (0.3, 0.1, 0.2, 0.15), (0.3, 0.5, 0.6, 0.4)
ERROR = 0.07


def scored() -> list[Scores]:
    """Four groups of four; the standard errors are known, so that groups differ in reliability."""
    dice = random.Random(5)
    groups = []
    for spread, level in zip(SPREADS, LEVELS, strict=True):
        shape = standardised([dice.gauss(0, 1) for _ in range(SIZE)])
        values = tuple(level + spread * (one or 0.0) / 2 for one in shape)
        groups.append(Scores(values, (ERROR,) * SIZE, "repeats", 9))
    return groups


def reliabilities() -> list[float]:
    return [max(0.0, 1 - ERROR**2 / (spread / 2) ** 2) for spread in SPREADS]


VIEW = view_of(*"abcd")
KINDS: dict[str, Any] = {
    "score": Identity(), "shrunk": Shrunk(), "weighted": Weighted(),
}  # fmt: skip


def rewards(kind: str) -> list[list[float]]:
    return [[one or 0.0 for one in KINDS[kind](group, VIEW)] for group in scored()]


def flat(rows: list[list[float]]) -> list[float]:
    return [one for row in rows for one in row]


Z = [[one or 0.0 for one in standardised(group.values)] for group in scored()]
CENTRED = [[z * spread / 2 for z in row] for row, spread in zip(Z, SPREADS, strict=True)]
ROOTS = [math.sqrt(one) for one in reliabilities()]


def table(kind: str, setting: str) -> list[float]:
    """The advantages that the page's table gives, before the common factor of a batch's deviation."""
    if setting == "group":
        shown = [
            [0.0] * SIZE if kind in {"shrunk", "weighted"} and not root else row
            for row, root in zip(Z, ROOTS, strict=True)
        ]
    elif kind == "weighted":
        shown = [[root * one for one in row] for row, root in zip(Z, ROOTS, strict=True)]
    elif kind == "shrunk":
        shown = [[root**2 * one for one in row] for row, root in zip(CENTRED, ROOTS, strict=True)]
    else:
        shown = CENTRED
    return flat(shown)


def proportional(found: list[float], expected: list[float]) -> None:
    """One factor turns the one into the other."""
    factor = math.fsum(a * b for a, b in zip(found, expected, strict=True)) / math.fsum(b * b for b in expected)
    assert factor > 0
    assert found == pytest.approx([factor * one for one in expected], rel=2e-3, abs=2e-4)


@with_trl
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("setting", ["group", "batch", "none", "RLOO", "RLOO batch"])
def test_in_trl_a_score_becomes_what_the_table_says(tmp_path: Path, setting: str, kind: str) -> None:
    from trl_runs import train  # noqa: PLC0415 - needs TRL

    given = flat(rewards(kind))
    options: dict[str, Any] = {"scale_rewards": setting}
    if setting.startswith("RLOO"):
        options = {"trainer": "RLOO", "normalize_advantages": setting == "RLOO batch"}
    found = train([lambda **_: given], tmp_path, shuffle_dataset=False, **options).advantages
    if setting == "group":
        # A reliability of .01 leaves a deviation near TRL's 1e-4, which then is no longer small.
        assert found == pytest.approx(table(kind, setting), abs=0.02)
    elif setting in {"none", "RLOO"}:
        factor = SIZE / (SIZE - 1) if setting == "RLOO" else 1.0
        assert found == pytest.approx([factor * one for one in table(kind, "none")], rel=1e-3, abs=1e-5)
    else:
        proportional(found, table(kind, "none"))


def verl(estimator: str, given: list[list[float]], **settings: Any) -> list[float]:
    import numpy as np  # noqa: PLC0415 - beside torch
    import torch  # noqa: PLC0415 - comes with verl
    from omegaconf import OmegaConf  # noqa: PLC0415 - likewise
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn  # noqa: PLC0415 - needs verl

    values = torch.tensor(flat(given), dtype=torch.float64)[:, None]
    uids = np.array([str(number) for number, row in enumerate(given) for _ in row], dtype=object)
    if estimator == "reinforce_plus_plus":
        settings = {"config": OmegaConf.create({"gamma": 1.0}), **settings}
    else:
        settings = {"index": uids, **settings}
    found, _ = get_adv_estimator_fn(estimator)(
        token_level_rewards=values, response_mask=torch.ones_like(values), **settings
    )
    return [float(one) for one in found[:, 0]]


@with_verl
@pytest.mark.parametrize("kind", KINDS)
def test_in_verl_a_score_becomes_what_the_table_says(kind: str) -> None:
    given = rewards(kind)
    assert verl("grpo", given) == pytest.approx(table(kind, "group"), abs=1e-3)
    assert verl("grpo", given, norm_adv_by_std_in_grpo=False) == pytest.approx(table(kind, "none"), rel=1e-6, abs=1e-8)
    factor = SIZE / (SIZE - 1)
    assert verl("rloo", given) == pytest.approx([factor * one for one in table(kind, "none")], rel=1e-6, abs=1e-8)
    proportional(verl("reinforce_plus_plus_baseline", given), table(kind, "none"))


@with_verl
def test_without_a_groups_baseline_a_weighted_reward_keeps_no_mean_and_a_shrunk_one_does() -> None:
    """REINFORCE++ subtracts the batch's mean: (m + R (s - m) - M) / S."""
    shrunk, plain = (rewards(kind) for kind in ("shrunk", "score"))
    mean = statistics.fmean(flat(shrunk))
    proportional(verl("reinforce_plus_plus", shrunk), [one - mean for one in flat(shrunk)])
    assert [statistics.fmean(row) for row in shrunk] == pytest.approx([statistics.fmean(row) for row in plain])
    proportional(verl("reinforce_plus_plus", rewards("weighted")), table("weighted", "none"))


@with_verl
def test_a_constant_has_no_advantage_only_where_a_groups_mean_is_subtracted() -> None:
    given = [[0.5] * SIZE, rewards("score")[0]]
    for estimator in ("grpo", "rloo", "reinforce_plus_plus_baseline"):
        assert verl(estimator, given)[:SIZE] == pytest.approx([0.0] * SIZE, abs=1e-6)
    assert abs(verl("reinforce_plus_plus", given)[0]) > 0.1
    assert verl("grpo", [[0.5], rewards("score")[0]])[0] == pytest.approx(0.5, abs=1e-5), "a group of one"
