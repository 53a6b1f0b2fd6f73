"""A comparison is drawn with a point and an interval for each judge; what is not one is left to others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.study.comparison.drawing import draw_comparison, measured_in, read_comparison


def _figure(value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high}


FOUND: dict[str, Any] = {
    "format": "calipers-comparison/1",
    "title": "Two judges",
    "cells": [
        {
            "name": "a",
            "rewrites": {"verbose": _figure(0.1, 0.05, 0.2), "confident_wrong": _figure(None, None, None)},
            "per_unit": {},
            "drift": {"by_feature": {"length": _figure(0.3, 0.2, 0.4)}},
        },
        {"name": "b", "rewrites": {"verbose": _figure(-0.1, None, None)}, "per_unit": {}, "drift": None},
    ],
}


@pytest.fixture
def draw() -> Any:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    return draw_comparison


def test_each_judge_has_a_point_and_an_interval(draw: Any) -> None:
    (axes,) = draw(FOUND, "rewrites").axes
    drawn = [[*map(float, line.get_xdata())] for line in axes.get_lines() if len(line.get_xdata())]
    assert drawn == [[0.05, 0.2], [0.1], [-0.1, -0.1], [-0.1], [0, 0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["verbose"]
    assert axes.get_title(loc="left") == "Two judges"


def test_a_judge_without_a_drift_is_left_out(draw: Any) -> None:
    (axes,) = draw(FOUND, "drift").axes
    assert len([line for line in axes.get_lines() if len(line.get_xdata())]) == 3


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(ConfigError, match="a comparison has no figure 'truth'; it has rewrites, per_unit, drift"):
        draw_comparison(FOUND, "truth")
    with pytest.raises(ConfigError, match="nothing of per_unit was measured"):
        draw_comparison(FOUND, "per_unit")
    with pytest.raises(InputError, match="the comparison: the file is damaged"):
        draw_comparison({"cells": [{"rewrites": 3}]}, "rewrites")


def test_a_figure_that_is_text_and_an_unknown_version_are_refused(tmp_path: Path) -> None:
    wrong = json.loads(json.dumps(FOUND))
    wrong["cells"][0]["rewrites"]["verbose"]["value"] = "0.1"
    with pytest.raises(InputError, match=r"the comparison: the file is damaged: '0\.1' is no number"):
        draw_comparison(wrong, "rewrites")
    with pytest.raises(InputError, match="the file is damaged: a cell has no 'drift'"):
        draw_comparison({"cells": [{"name": "a"}]}, "drift")
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**FOUND, "format": "calipers-comparison/2"}), encoding="utf-8")
    with pytest.raises(InputError, match=r"r\.json: its format 'calipers-comparison/2' is not calipers-comparison/1"):
        read_comparison(str(path))


def test_the_folder_of_a_comparison_is_read_like_its_file(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_text(json.dumps(FOUND), encoding="utf-8")
    assert read_comparison(str(tmp_path)) == FOUND


def test_what_was_measured_is_known() -> None:
    assert measured_in(FOUND, "r.json") == {"rewrites", "drift"}


def test_only_a_comparisons_result_is_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    for text, expected in (
        (json.dumps(FOUND), FOUND),
        ('{"format": "calipers-simulation/1"}', None),
        ("[1]", None),
        ("nonsense", None),
    ):
        path.write_text(text, encoding="utf-8")
        assert read_comparison(str(path)) == expected
    assert read_comparison(str(tmp_path / "none.json")) is None
