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
"""The standard error of each score, so that the groups, which are spread by half their ``SPREADS``, differ in
reliability.
"""
DICE = random.Random(5)
SHAPES = [[one or 0.0 for one in standardised([DICE.gauss(0, 1) for _ in range(SIZE)])] for _ in SPREADS]
"""Each group's standard scores."""
SCORED = [
    Scores(tuple(level + spread / 2 * one for one in shape), (ERROR,) * SIZE, "repeats", 9)
    for spread, level, shape in zip(SPREADS, LEVELS, SHAPES, strict=True)
]
RELIABILITIES = [max(0.0, 1 - ERROR**2 / (spread / 2) ** 2) for spread in SPREADS]
KINDS: dict[str, Any] = {"score": Identity(), "shrunk": Shrunk(), "weighted": Weighted()}
kinds = pytest.mark.parametrize("kind", KINDS)


def rewards(kind: str) -> list[list[float]]:
    view = view_of(*"abcd")
    return [[one or 0.0 for one in KINDS[kind](group, view)] for group in SCORED]


def flat(rows: list[list[float]]) -> list[float]:
    return [one for row in rows for one in row]


def table(kind: str, setting: str) -> list[float]:
    """The advantages that the page's table gives, before the common factor of a batch's deviation."""
    found: list[float] = []
    for spread, shape, reliability in zip(SPREADS, SHAPES, RELIABILITIES, strict=True):
        if setting == "group":
            factor = 0.0 if kind != "score" and not reliability else 1.0
        elif kind == "weighted":
            factor = math.sqrt(reliability)
        else:
            factor = spread / 2 * (reliability if kind == "shrunk" else 1.0)
        found += [factor * one for one in shape]
    return found


def leave_one_out(kind: str) -> Any:
    return pytest.approx([SIZE / (SIZE - 1) * one for one in table(kind, "none")], rel=1e-3, abs=1e-5)


def require_proportional(found: list[float], expected: list[float]) -> None:
    """One factor turns the one into the other."""
    factor = math.fsum(a * b for a, b in zip(found, expected, strict=True)) / math.fsum(b * b for b in expected)
    assert factor > 0
    assert found == pytest.approx([factor * one for one in expected], rel=2e-3, abs=2e-4)


@with_trl
@kinds
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
        assert found == pytest.approx(table(kind, "group"), abs=0.02)
    elif setting == "none":
        assert found == pytest.approx(table(kind, "none"), rel=1e-3, abs=1e-5)
    elif setting == "RLOO":
        assert found == leave_one_out(kind)
    else:
        require_proportional(found, table(kind, "none"))


def verl(estimator: str, given: list[list[float]], **settings: Any) -> list[float]:
    import numpy as np  # noqa: PLC0415 - beside torch
    import torch  # noqa: PLC0415 - comes with verl
    from omegaconf import OmegaConf  # noqa: PLC0415 - likewise
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn  # noqa: PLC0415 - needs verl

    values = torch.tensor(flat(given), dtype=torch.float64)[:, None]
    if estimator == "reinforce_plus_plus":
        settings["config"] = OmegaConf.create({"gamma": 1.0})
    else:
        settings["index"] = np.array([str(number) for number, row in enumerate(given) for _ in row], dtype=object)
    found, _ = get_adv_estimator_fn(estimator)(
        token_level_rewards=values, response_mask=torch.ones_like(values), **settings
    )
    return [float(one) for one in found[:, 0]]


@with_verl
@kinds
def test_in_verl_a_score_becomes_what_the_table_says(kind: str) -> None:
    given = rewards(kind)
    assert verl("grpo", given) == pytest.approx(table(kind, "group"), abs=1e-3)
    assert verl("grpo", given, norm_adv_by_std_in_grpo=False) == pytest.approx(table(kind, "none"), rel=1e-6, abs=1e-8)
    assert verl("rloo", given) == leave_one_out(kind)
    require_proportional(verl("reinforce_plus_plus_baseline", given), table(kind, "none"))
    # Without a group's baseline only the batch's mean is subtracted, of which a weighted reward has none.
    mean = statistics.fmean(flat(given))
    require_proportional(verl("reinforce_plus_plus", given), [one - mean for one in flat(given)])
    if kind == "weighted":
        require_proportional(verl("reinforce_plus_plus", given), table(kind, "none"))
