"""Figures of a study show the mean and the interval of every arm's runs, from its result file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.study.figures import differences, draw_curve, measured_names, read_curves, save_figure
from calipers.study.intervals import estimate

CLEAN = {"step": [0, 1, 2], "truth": [[0.5, 0.6, 0.7], [0.4, 0.8, 0.7], [0.3, 0.7, 0.4]]}
BIASED = {"step": [0, 1, 2], "truth": [[0.5, 0.5, 0.5], [0.4, 0.5, 0.3], [0.3, None, None]]}
HELD_OUT = {"step": [0, 3], "truth": [[0.5, 0.9], [0.5, 0.7], [None, None]], "calls": [[0, 10], [0, 20], [None, None]]}
RESULTS: dict[str, Any] = {
    "format": "calipers-training/1",
    "title": "a judge with a $bias$",
    "arms": [
        {"name": "clean", "against": None, "curves": CLEAN, "held_out": HELD_OUT},
        {"name": "biased", "against": "clean", "curves": BIASED, "held_out": HELD_OUT},
    ],
}


def drawn(*given: Any) -> Any:
    """The axes of a figure, whose types matplotlib does not tell."""
    return draw_curve(*given).axes


@pytest.fixture
def results(tmp_path: Path) -> Path:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    (tmp_path / "results.json").write_text(json.dumps(RESULTS), encoding="utf-8")
    return tmp_path


def test_lines_are_means_and_bands_are_intervals(results: Path) -> None:
    title, arms = read_curves(str(results))
    (axes,) = drawn(title, arms, "truth")
    lines = {line.get_label(): [*map(float, line.get_ydata())] for line in axes.get_lines()}
    assert lines["clean (3 runs)"] == pytest.approx([0.4, 0.7, 0.6])
    assert lines["biased (3 runs)"] == pytest.approx([0.4, 0.5, 0.4])
    half = estimate([0.6, 0.8, 0.7]).half_width
    assert half is not None
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert max(heights) == pytest.approx(max(0.7 + half, 0.6 + (estimate([0.7, 0.7, 0.4]).half_width or 0)))
    assert axes.get_ylabel() == "true quality (0 to 1)"
    (axes,) = drawn(title, arms, "held_out_truth")
    assert [*map(float, axes.get_lines()[0].get_xdata())] == [0, 3]


def test_differences_and_other_axes(results: Path) -> None:
    title, arms = read_curves(str(results))
    (axes,) = drawn(title, differences(arms), "truth")
    (line,) = axes.get_lines()
    assert line.get_label() == "biased − clean (3 runs)"
    assert [*map(float, line.get_ydata())] == pytest.approx([0, -0.2, -0.3])
    title, arms = read_curves(str(results / "results.json"), "calls")
    (axes,) = drawn(title, arms, "truth", "calls")
    assert [*map(float, axes.get_lines()[0].get_xdata())] == [0, 15]
    assert measured_names(arms) == ["truth", "calls"]
    with pytest.raises(ConfigError, match="Did you mean truth"):
        draw_curve(title, arms, "truht")
    with pytest.raises(ConfigError, match="differences"):
        differences(arms[:1])


def test_the_same_figure_is_the_same_bytes(results: Path) -> None:
    title, arms = read_curves(str(results))
    made = [
        [path.read_bytes() for path in save_figure(draw_curve(title, arms, "truth"), results / name)] for name in "ab"
    ]
    assert made[0] == made[1]
    assert b"$bias$" in made[0][1]
    with pytest.raises(ConfigError, match="cannot be written"):
        save_figure(draw_curve(title, arms, "truth"), results / "no" / "a")


def test_a_damaged_file_is_named(results: Path) -> None:
    wrong: list[Any] = [
        "{",
        [],
        {**RESULTS, "format": "other/1"},
        {**RESULTS, "arms": []},
        {**RESULTS, "arms": [{"name": "a"}]},
        {**RESULTS, "arms": [{**RESULTS["arms"][0], "curves": {"step": ["x"]}}]},
        {**RESULTS, "arms": [{**RESULTS["arms"][0], "curves": {"step": [0], "../x": [[1]]}}]},
        {**RESULTS, "arms": [{**RESULTS["arms"][0], "curves": {"step": [0], "truth": [[1, 2]]}}]},
    ]
    for content in wrong:
        text = content if isinstance(content, str) else json.dumps(content)
        (results / "results.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"results\.json"):
            read_curves(str(results))
    with pytest.raises(InputError, match="no such file"):
        read_curves(str(results / "missing.json"))
