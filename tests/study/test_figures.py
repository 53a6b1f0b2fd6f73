"""Means of runs with their t-intervals, and figures that show them for every arm, from a study's result file."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.study.figures import differences, draw_curve, measured_names, read_curves, save_figure
from calipers.study.intervals import estimate, paired_difference, t_quantile

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


@pytest.fixture
def results(tmp_path: Path) -> Path:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    (tmp_path / "results.json").write_text(json.dumps(RESULTS), encoding="utf-8")
    return tmp_path


def shown(*given: Any) -> tuple[str, list[float], list[float]]:
    """The label and the coordinates of the first line of a figure, whose types matplotlib does not tell."""
    (axes,) = draw_curve(*given).axes
    line: Any = axes.get_lines()[0]
    return line.get_label(), [*map(float, line.get_xdata())], [*map(float, line.get_ydata())]


def test_lines_are_means_and_bands_are_intervals(results: Path) -> None:
    title, arms = read_curves(str(results))
    axes: Any = draw_curve(title, arms, "truth").axes[0]
    lines = {line.get_label(): [*map(float, line.get_ydata())] for line in axes.get_lines()}
    assert lines["clean (3 runs)"] == pytest.approx([0.4, 0.7, 0.6])
    assert lines["biased (3 runs)"] == pytest.approx([0.4, 0.5, 0.4])
    half = estimate([0.6, 0.8, 0.7]).half_width
    assert half is not None
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert max(heights) == pytest.approx(max(0.7 + half, 0.6 + (estimate([0.7, 0.7, 0.4]).half_width or 0)))
    assert axes.get_ylabel() == "true quality (0 to 1)"
    assert shown(title, arms, "held_out_truth")[1] == [0, 3]


def test_differences_and_other_axes(results: Path) -> None:
    title, arms = read_curves(str(results))
    label, _, heights = shown(title, differences(arms), "truth")
    assert (label, len(differences(arms))) == ("biased − clean (3 runs)", 1)
    assert heights == pytest.approx([0, -0.2, -0.3])
    title, arms = read_curves(str(results / "results.json"), "calls")
    assert shown(title, arms, "truth", "calls")[1] == [0, 15]
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
    arm = RESULTS["arms"][0]
    curves: list[Any] = [{"step": ["x"]}, {"step": [0], "../x": [[1]]}, {"step": [0], "truth": [[1, 2]]}]
    wrong: list[Any] = ["{", [], {**RESULTS, "format": "other/1"}, {**RESULTS, "arms": []},
                        {**RESULTS, "arms": [{"name": "a"}]},
                        *({**RESULTS, "arms": [{**arm, "curves": one}]} for one in curves)]  # fmt: skip
    for content in wrong:
        text = content if isinstance(content, str) else json.dumps(content)
        (results / "results.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"results\.json: (?!.*Error)"):
            read_curves(str(results))
    with pytest.raises(InputError, match="no such file"):
        read_curves(str(results / "missing.json"))


# --- intervals


def test_quantiles_are_those_of_printed_tables_and_of_the_normal_distribution() -> None:
    for freedom, quantile in {1: 12.7062, 2: 4.3027, 4: 2.7764, 9: 2.2622, 30: 2.0423}.items():
        assert t_quantile(0.975, freedom) == pytest.approx(quantile, abs=6e-5)
    assert t_quantile(0.975, 2000) == pytest.approx(statistics.NormalDist().inv_cdf(0.975), abs=2e-3)


def test_an_interval_is_the_mean_and_its_error_times_the_quantile() -> None:
    found = estimate([1.0, 2.0, 4.0])
    error = statistics.stdev([1.0, 2.0, 4.0]) / math.sqrt(3)
    assert found.mean == pytest.approx(7 / 3)
    assert found.half_width == pytest.approx(4.3027 * error, rel=1e-4)
    assert found.detectable == pytest.approx((4.3027 + 1.0607) * error, rel=1e-4)
    assert not found.is_clear


def test_one_run_has_no_interval_and_no_runs_have_no_mean() -> None:
    assert estimate([3.0]).half_width is None
    assert not estimate([3.0]).is_clear
    with pytest.raises(ValueError, match="no runs"):
        estimate([])


def test_what_pairs_share_cancels() -> None:
    seeds = [10.0, -40.0, 25.0, 0.5]
    found = paired_difference([one + shift for one, shift in zip(seeds, (1.0, 1.1, 0.9, 1.0), strict=True)], seeds)
    assert found.mean == pytest.approx(1.0)
    assert found.half_width is not None
    assert found.half_width < 0.2
    assert found.is_clear
