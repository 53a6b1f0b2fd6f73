"""Figures of a study show the mean and the interval of every arm's runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.study.curves import ArmCurves, StudyCurves
from calipers.study.figures import draw_curve, save_figure
from calipers.study.intervals import estimate

CLEAN = ArmCurves("clean", (0, 10), {"truth": ((0.5, 0.6), (0.4, 0.8), (0.3, 0.7))})
BIASED = ArmCurves("biased", (0, 10), {"truth": ((0.5, 0.5), (0.4, 0.5), (0.3, None))}, "clean")
STUDY = StudyCurves("a judge with a bias", (CLEAN, BIASED))


@pytest.fixture
def drawn() -> Any:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    return draw_curve


def test_lines_are_means_and_bands_are_intervals(drawn: Any) -> None:
    (axes,) = drawn(STUDY, "truth").axes
    lines = {line.get_label(): [*map(float, line.get_ydata())] for line in axes.get_lines()}
    assert lines["clean (3 runs)"] == pytest.approx([0.4, 0.7])
    assert lines["biased (3 runs)"] == pytest.approx([0.4, 0.5])
    half = estimate([0.6, 0.8, 0.7]).half_width
    assert half is not None
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx(max(0.7 + half, 0.4 + half))
    assert axes.get_title(loc="left") == "a judge with a bias"
    assert axes.get_ylabel() == "true quality (0 to 1)"


def test_differences_are_between_runs_of_the_same_seed(drawn: Any) -> None:
    (axes,) = drawn(STUDY, "truth", differences=True).axes
    line, zero = axes.get_lines()
    assert line.get_label() == "biased − clean (3 runs)"
    assert [*map(float, line.get_ydata())] == pytest.approx([0, (-0.1 - 0.3) / 2])
    assert [*zero.get_ydata()] == [0, 0]


def test_one_run_has_no_band(drawn: Any) -> None:
    (axes,) = drawn(StudyCurves("", (ArmCurves("a", (0, 1), {"kl": ((0.0, 1.0),)}),)), "kl").axes
    assert len(axes.get_lines()) == 1
    assert not axes.collections


def test_arms_can_be_chosen_and_curves_drawn_over_kl(drawn: Any) -> None:
    arms = [ArmCurves(arm.name, (0.0, 0.25 * n), arm.runs, arm.against) for n, arm in enumerate(STUDY.arms, 1)]
    study = StudyCurves("", tuple(arms), "kl")
    (axes,) = drawn(study, "truth", arms=["biased"]).axes
    (line,) = axes.get_lines()
    assert [*map(float, line.get_xdata())] == [0, 0.5]
    assert axes.get_xlabel() == "KL from the first policy (nats), mean over runs"
    (axes,) = drawn(study, "truth", differences=True).axes
    assert [*map(float, axes.get_lines()[0].get_xdata())] == [0, 0.5]
    with pytest.raises(ConfigError, match=r"no arm 'baised'\. Did you mean biased\?"):
        drawn(study, "truth", arms=["baised"])


def test_runs_that_were_not_made_are_not_counted(drawn: Any) -> None:
    rows = ((0.5, 0.6), (None, None))
    (axes,) = drawn(StudyCurves("", (ArmCurves("a", (0, 1), {"truth": rows}),)), "truth").axes
    assert axes.get_lines()[0].get_label() == "a (1 run)"


@pytest.mark.parametrize(("study", "name", "differences", "words"), [
    (STUDY, "trueth", False, "no curve 'trueth'; it has truth"),
    (StudyCurves("", (CLEAN,)), "truth", True, "no arm of the study is compared"),
    (StudyCurves("", (CLEAN, ArmCurves("b", (0, 5), {"truth": ((0, 0),) * 3}, "clean"))), "truth", True, "other steps"),
    (StudyCurves("", (CLEAN, ArmCurves("b", (0, 10), {"truth": ((0, 0),)}, "clean"))), "truth", True, "other .*runs"),
    (StudyCurves("", (CLEAN,) * 33), "truth", False, "33 arms cannot be told apart"),
    (StudyCurves("", (ArmCurves("a", (0,), {"kl": ((None,),)}),)), "kl", False, "'kl' has no numbers: it was"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_said(drawn: Any, study: StudyCurves, name: str, differences: bool, words: str) -> None:  # noqa: FBT001
    with pytest.raises(ConfigError, match=words):
        drawn(study, name, differences=differences)


def test_names_and_titles_are_drawn_as_they_are(drawn: Any, tmp_path: Path) -> None:
    curves = {"truth": ((0.5, 0.75),) * 2}
    study = StudyCurves("costs $x^$ \x1b[31m\ud800", (ArmCurves("a $\\nothing$\x00", (0, 5), curves),))
    _, svg = save_figure(drawn(study, "truth"), tmp_path / "figure")
    text = svg.read_text(encoding="utf-8")
    assert "costs $x^$ \\x1b[31m\\ud800" in text
    assert "a $\\nothing$\\x00 (2 runs)" in text


def test_the_same_curves_are_the_same_bytes_in_both_formats(drawn: Any, tmp_path: Path) -> None:
    one, two = (save_figure(drawn(STUDY, "truth"), tmp_path / name) for name in ("one", "two"))
    assert [path.name for path in one] == ["one.png", "one.svg"]
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_a_folder_that_is_missing_is_said(drawn: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"figure\.png: cannot be written \(No such file"):
        save_figure(drawn(STUDY, "truth"), tmp_path / "nowhere" / "figure")


def test_without_matplotlib_the_install_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[study\]'"):
        draw_curve(STUDY, "truth")
