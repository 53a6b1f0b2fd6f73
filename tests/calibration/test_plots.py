"""A calibration in a notebook: its table, and its figure, whose points are the calibration's numbers."""

import sys
from typing import Any

import numpy as np
import pytest

from calipers.calibration import Calibration, calibrate
from calipers.errors import ConfigError
from judged import groups, rated

GROUPS = groups(60)


@pytest.fixture(scope="module")
def found() -> Calibration:
    """Two judges asked four times, one with a hostile name; and one asked once."""
    records = [*rated(GROUPS, "<b>$good$", 0.3, calls=4), *rated(GROUPS, "noisy", 1.5, calls=4)]
    return calibrate(GROUPS, [*records, *rated(GROUPS, "once", 0.5)])


def test_its_table_has_the_figures_of_each_judge(found: Calibration):
    text = found._repr_html_()
    assert "&lt;b&gt;$good$" in text
    assert "<b>" not in text
    for one in found.judges:
        assert f"{one.advantage_fidelity:.3f}" in text


def test_its_figure_shows_fidelity_against_calls_and_the_honesty_of_standard_errors(found: Calibration):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    figure = found.plot()
    fidelity, honesty = figure.axes
    for line, one in zip(fidelity.lines, (one for one in found.judges if one.by_calls), strict=True):
        assert [tuple(pair) for pair in np.asarray(line.get_xydata()).tolist()] == [
            (point.calls, pytest.approx(point.advantage_fidelity)) for point in one.by_calls
        ]
    ratios = [one.stderr_ratio for one in found.judges if one.stderr_ratio is not None]
    assert np.asarray(honesty.lines[-1].get_xdata()).tolist() == ratios
    assert len(ratios) == 2
    figure.canvas.draw()


def test_what_is_unknown_is_said_in_its_figure():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    figure = calibrate(GROUPS, rated(GROUPS, "once", 0.5)).plot()
    assert "unknown" in figure.axes[1].texts[0].get_text()
    figure.canvas.draw()


def test_without_matplotlib_the_remedy_is_named(found: Calibration, monkeypatch: pytest.MonkeyPatch):
    hidden: dict[str, Any] = {"matplotlib": None, "matplotlib.figure": None}
    for name, module in hidden.items():
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[study\]'"):
        found.plot()
