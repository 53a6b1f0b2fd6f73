from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.backends.embedded.features import FEATURES
from calipers.backends.embedded.model import MODEL_FILE, Model, shipped_model

ROOT = Path(__file__).parents[3]
STORED = json.loads(MODEL_FILE.read_text(encoding="utf-8"))
values = st.lists(st.floats(-1, 1, allow_nan=False), min_size=len(FEATURES), max_size=len(FEATURES)).map(tuple)


@given(values, st.integers(0, len(FEATURES) - 1), st.floats(0, 1, allow_nan=False))
def test_more_of_a_good_thing_never_lowers_the_score(row: tuple[float, ...], i: int, more: float) -> None:
    model = shipped_model()
    raised = list(row)
    raised[i] += more if model.weights[i] >= 0 else -more
    assert model.score(tuple(raised)) >= model.score(row)


@given(values)
def test_scores_stay_off_the_ends_of_the_scale(row: tuple[float, ...]) -> None:
    assert 5 <= shipped_model().score(row) <= 95


def test_an_extreme_sum_does_not_overflow() -> None:
    model = Model("m", (1e6,) * len(FEATURES), 0.0, 1.0)
    assert (model.score((1.0,) * len(FEATURES)), model.score((-1.0,) * len(FEATURES))) == (95, 5)


def test_the_shipped_file_has_a_weight_for_every_feature_and_no_other() -> None:
    assert set(STORED["weights"]) == set(STORED["prior"]) == set(FEATURES)


def test_no_weight_turned_against_its_prior() -> None:
    assert all(STORED["weights"][name] * STORED["prior"][name] >= 0 for name in FEATURES)


def test_the_shipped_file_says_what_it_was_fitted_on_and_how_it_did_elsewhere() -> None:
    assert isinstance(STORED["seed"], int)
    assert set(STORED["held_out"]["by_prompt"]) == set(STORED["held_out"]["by_data_set"]) == set(STORED["fitted_on"])
    for rows in STORED["held_out"].values():
        assert all(-1 <= row["fidelity"] <= 1 and row["groups"] > 0 for row in rows.values())


@pytest.mark.data
def test_fitting_again_gives_the_shipped_file() -> None:
    """Same data, same seed, same bytes; left-out data sets agree beyond two standard errors where listed."""
    data = Path(os.environ.get("CALIPERS_DATA") or ROOT.parent / "shared" / "data")
    if not (data / "gsm8k_groups").is_dir():
        pytest.skip("needs the recorded data: ../shared/data, or where CALIPERS_DATA points")
    command = [sys.executable, str(ROOT / "scripts" / "fit_embedded.py"), "--check", "--data", str(data)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    for name in ("tau2_airline", "gsm8k_groups", "openqa301", "llmbar", "evalbiasbench"):
        row = STORED["held_out"]["by_data_set"][name]
        assert row["fidelity"] > 2 * row["fidelity_se"], name
