from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.backends.embedded.features import FEATURES
from calipers.backends.embedded.model import MODEL_FILE, SHIPPED, Model, read_model, shipped_model, write_model
from calipers.errors import ConfigError

ROOT = Path(__file__).parents[3]
STORED = json.loads((SHIPPED / MODEL_FILE).read_text(encoding="utf-8"))
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
    model = Model("m", 1, (1e6,) * len(FEATURES), 0.0, 1.0)
    assert (model.score((1.0,) * len(FEATURES)), model.score((-1.0,) * len(FEATURES))) == (95, 5)


def test_the_shipped_file_has_a_weight_for_every_feature_and_no_other() -> None:
    assert set(STORED["weights"]) == set(FEATURES)


def test_the_shipped_judge_has_a_card_of_its_name_and_version() -> None:
    """Its agreement was measured on prompts held out, and is above 0."""
    card = (SHIPPED / "card.md").read_text(encoding="utf-8")
    assert card.startswith(f"# {shipped_model().title}\n")
    found = re.search(r"with its teacher, gold \| \S+ \| (\S+) to ", card)
    assert found is not None
    assert float(found[1]) > 0


def test_a_model_that_was_written_is_read_again(tmp_path: Path) -> None:
    model = Model("mine", 3, tuple(place / 7 for place in range(len(FEATURES))), 1.5, 0.5)
    write_model(tmp_path, model)
    assert read_model(tmp_path) == model
    assert read_model(tmp_path).title == "mine-3"


@pytest.mark.parametrize(
    "change",
    [
        {"format": "calipers-embedded-judge/9"},
        {"weights": {}},
        {"weights": []},
        {"weights": dict.fromkeys(FEATURES, "1")},
        {"offset": None},
        {"gain": 1e999},
        {"version": True},
        {"name": ""},
    ],
)
def test_a_damaged_model_is_named_and_not_used(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "model.json").write_text(json.dumps(STORED | change))
    with pytest.raises(ConfigError, match=r"embedded:.*model\.json is not of the format"):
        calipers.Judge(f"embedded:{tmp_path}")


def test_a_folder_without_a_judge_is_named_with_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no embedded judge \(model\.json: No such file"):
        calipers.Judge(f"embedded:{tmp_path}")
    (tmp_path / "model.json").write_text("[" * 90_000)
    with pytest.raises(ConfigError, match="is damaged"):
        calipers.Judge(f"embedded:{tmp_path}")


def test_a_model_file_larger_than_any_is_named_and_read_no_further(tmp_path: Path):
    (tmp_path / "model.json").write_bytes(b" " * 100_001)
    with pytest.raises(ConfigError, match=r"model\.json is larger than any model of a judge"):
        read_model(tmp_path)
