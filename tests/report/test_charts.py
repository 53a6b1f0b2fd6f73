"""The figures in a real browser: what is drawn, what the table says, and what is said when nothing is known."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from report_browser import Browser
from report_charts import page_with

pytestmark = pytest.mark.timeout(300)

AXES = {"x": {"label": "step"}, "y": {"label": "reward", "range": [0, 1]}}
HOSTILE = "<img src=x onerror=window.ran=1>\u202e"
INK = """
const canvas = document.querySelectorAll("canvas")[arguments[0] ?? 0];
const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
const wanted = getComputedStyle(document.documentElement).getPropertyValue(arguments[1]).trim();
const [r, g, b] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
let found = 0;
for (let at = 0; at < data.length; at += 4)
  found += Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) + Math.abs(data[at + 2] - b) < 12 && data[at + 3] > 250;
return found;
"""
"""The number of pixels of a canvas that have the colour of a CSS variable."""


def figure(kind: str, **chart: Any) -> str:
    """The script that shows a figure."""
    given = json.dumps(chart).replace("<", "\\u003c")
    return f"main.append({kind}({given}));"


def points(*values: float | None, error: float | None = None) -> list[dict[str, float | None]]:
    return [
        {"x": 10 * at, "y": value}
        if error is None or value is None
        else {"x": 10 * at, "y": value, "low": value - error, "high": value + error}
        for at, value in enumerate(values)
    ]


def opened(browser: Browser, folder: Path, *figures: str) -> None:
    browser.open(page_with(folder, "\n".join(figures)))


def ink(browser: Browser, series: int, canvas: int = 0) -> int:
    return int(browser.run(INK, canvas, f"--series-{series}"))


def test_a_line_is_drawn_and_its_numbers_are_a_table(browser: Browser, tmp_path: Path):
    series = [{"name": "judge", "points": points(0.1, None, 0.3, error=0.05)}, {"name": "truth", "points": points(0.2)}]
    opened(browser, tmp_path, figure("lineChart", title="Reward", **AXES, series=series))
    browser.until("document.querySelector('canvas')")
    assert ink(browser, 0) > 30, "two dots"
    assert ink(browser, 1) > 10, "a value alone is a dot"
    assert ink(browser, 2) == 0
    browser.click(".numbers summary")
    rows = [row.split("\t") for row in browser.texts(".numbers-table tr")]
    assert rows == [
        ["step", "judge", "truth"],
        ["0", "0.100 (0.050 to 0.150)", "0.200"],
        ["10", "\u2013", "\u2013"],
        ["20", "0.300 (0.250 to 0.350)", "\u2013"],
    ]
    assert "3 points" in browser.run("return document.querySelector('.plot-area').getAttribute('aria-label')")


def test_a_gap_is_not_bridged(browser: Browser, tmp_path: Path):
    whole = {"name": "a", "points": points(0.5, 0.5, 0.5, 0.5)}
    broken = {"name": "a", "points": points(0.5, None, None, 0.5)}
    figures = [figure("lineChart", title="t", **AXES, series=[one]) for one in (whole, broken)]
    opened(browser, tmp_path, *figures)
    browser.until("document.querySelectorAll('canvas').length === 2")
    assert ink(browser, 0, canvas=1) < 0.2 * ink(browser, 0, canvas=0)


def test_a_series_is_hidden_and_shown_again(browser: Browser, tmp_path: Path):
    series = [{"name": name, "points": points(0.2 + at / 4, 0.3 + at / 4)} for at, name in enumerate("ab")]
    opened(browser, tmp_path, figure("lineChart", title="t", **AXES, series=series))
    browser.until("document.querySelector('canvas')")
    before = [ink(browser, 0), ink(browser, 1)]
    browser.click(".series", "b")
    assert browser.run("return document.querySelectorAll('.series')[1].ariaPressed") == "false"
    assert [ink(browser, 0), ink(browser, 1)] == [before[0], 0]
    browser.click(".series", "b")
    assert [ink(browser, 0), ink(browser, 1)] == before


def test_dots_have_error_bars_and_the_diagonal(browser: Browser, tmp_path: Path):
    axes = {"x": {"label": "stated"}, "y": {"label": "observed"}}
    dots: list[dict[str, Any]] = [{"x": 0.1, "y": 0.2, "label": "far"}, {"x": 0.4, "y": 0.5}]
    bars = [{**one, "low": one["y"] - 0.1, "high": one["y"] + 0.1} for one in dots]
    figures = [
        figure("scatterChart", title="t", **axes, diagonal=diagonal, series=[{"name": "j", "points": drawn}])
        for drawn, diagonal in ((dots, False), (bars, False), (bars, True))
    ]
    opened(browser, tmp_path, *figures)
    browser.until("document.querySelectorAll('canvas').length === 3")
    assert ink(browser, 0, canvas=1) > ink(browser, 0, canvas=0)
    quiet = [int(browser.run(INK, canvas, "--quiet")) for canvas in (1, 2)]
    assert quiet[1] > quiet[0] + 40
    browser.click(".numbers summary")
    assert browser.texts(".numbers-table tbody tr")[:2] == ["j far\t0.100\t0.200", "j\t0.400\t0.500"]


def test_what_is_not_known_is_said_and_not_drawn(browser: Browser, tmp_path: Path):
    unknown = {"name": "silent", "points": points(None, None)}
    rows = [{"name": "known", "value": 0.5, "low": 0.4, "high": 0.6}, {"name": "silent", "value": None}]
    opened(
        browser, tmp_path,
        figure("lineChart", title="t", **AXES, series=[unknown], empty="No step has a reward."),
        figure("lineChart", title="t", **AXES, series=[unknown, {"name": "a", "points": points(0.1, 0.2)}]),
        figure("categoryChart", title="t", label="judge", what="fidelity", rows=rows),
        figure("categoryChart", title="t", label="judge", what="fidelity", rows=[], empty="No judge."),
    )  # fmt: skip
    browser.until("document.querySelector('canvas')")
    assert browser.texts(".chart .note") == ["No step has a reward.", "No judge."]
    assert "Not known: silent" in browser.text("main")
    said = [row.split() for row in browser.texts(".categories tbody tr")]
    assert said == [["known", "0.500", "0.400", "to", "0.600"], ["silent", "not", "known"]]
    assert browser.run("return [...document.querySelectorAll('.categories tr')]"
                       ".map((one) => one.querySelectorAll('circle, .error').length)") == [0, 4, 0, 0]  # fmt: skip


def test_bars_are_as_long_as_their_numbers(browser: Browser, tmp_path: Path):
    rows = [{"name": name, "value": value} for name, value in (("a", 8), ("b", 2), ("c", 0))]
    opened(browser, tmp_path, figure("categoryChart", title="t", label="kind", what="n", rows=rows, bars=True))
    widths = browser.run(
        "return [...document.querySelectorAll('.bar')].map((one) => one.getBoundingClientRect().width)"
    )
    assert len(widths) == 2, "nothing is drawn for zero"
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.02)


def test_hostile_names_are_text(browser: Browser, tmp_path: Path):
    series = [{"name": HOSTILE, "points": [{"x": 0, "y": 1, "label": HOSTILE}]}]
    rows = [{"name": HOSTILE + "x" * 1_000_000, "value": 1, "note": HOSTILE}]
    marks = [{"x": 0, "label": HOSTILE}]
    opened(
        browser, tmp_path,
        *(figure(kind, title=HOSTILE, **AXES, series=series, marks=marks) for kind in ("lineChart", "scatterChart")),
        figure("categoryChart", title=HOSTILE, label="a", what="b", rows=rows),
    )  # fmt: skip
    browser.until("document.querySelectorAll('canvas').length === 2")
    assert browser.run("return window.ran === undefined && document.images.length === 0")
    assert "U+202E" in browser.text(".series")
    assert len(browser.text("main")) < 5000
    assert browser.run("return document.documentElement.scrollWidth") <= 1360


def test_a_long_table_is_shown_piece_by_piece(browser: Browser, tmp_path: Path):
    series = [{"name": "a", "points": points(*(n / 1000 for n in range(1000)))}]
    opened(browser, tmp_path, figure("lineChart", title="t", **AXES, series=series))
    browser.click(".numbers summary")
    browser.until("document.querySelectorAll('.numbers-table tbody tr').length === 200")
    browser.click(".numbers-table .more", "800 more rows")
    assert browser.run("return document.querySelectorAll('.numbers-table tbody tr').length") == 400


def test_figures_are_drawn_in_the_colours_of_the_screen_and_of_paper(browser: Browser, tmp_path: Path):
    def emulate(scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    colour = "return getComputedStyle(document.documentElement).getPropertyValue('--series-0').trim()"
    opened(
        browser, tmp_path, figure("lineChart", title="t", **AXES, series=[{"name": "a", "points": points(0.1, 0.9)}])
    )
    browser.until("document.querySelector('canvas')")
    light = browser.run(colour)
    try:
        emulate("dark")
        browser.until(f"getComputedStyle(document.documentElement).getPropertyValue('--series-0').trim() !== '{light}'")
        browser.until(f"(() => {{ const arguments = [0, '--series-0']; {INK} }})() > 50")  # in the dark colour
        browser.run("dispatchEvent(new Event('beforeprint'))")
        assert browser.run(colour) == light
        assert ink(browser, 0) > 50, "drawn for paper"
        browser.run("dispatchEvent(new Event('afterprint'))")
        assert browser.run(colour) != light
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_figure_fits_a_phone(browser: Browser, tmp_path: Path):
    browser.resize(360, 800)
    rows = [{"name": "a judge with a long name " * 3, "value": 0.5, "low": 0.4, "high": 0.6}]
    opened(
        browser, tmp_path,
        figure("lineChart", title="t", **AXES, series=[{"name": "a", "points": points(0.1, 0.9)}]),
        figure("categoryChart", title="t", label="judge", what="fidelity", rows=rows),
    )  # fmt: skip
    browser.until("document.querySelector('canvas')")
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    assert browser.run("return document.querySelector('.view').scrollWidth") <= 360
    browser.resize(1200, 800)
    browser.until("document.querySelector('canvas').getBoundingClientRect().width > 800")


SAID = """
const said = [];
window.said = said;
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
  said.push(text);
  return write.call(this, text, ...at);
};
"""
"""Remembers what is written on a canvas."""


@pytest.mark.parametrize("most", [2, 4, 8, 30])
@pytest.mark.parametrize("width", [400, 1400])
def test_an_axis_of_whole_numbers_has_whole_ticks_each_once(browser: Browser, tmp_path: Path, most: int, width: int):
    browser.resize(width, 800)
    drawn = [{"x": n, "y": -n / most} for n in range(1, most + 1)]
    axes = {"x": {"label": "calls", "integers": True}, "y": {"label": "fidelity"}}
    opened(browser, tmp_path, SAID, figure("lineChart", title="t", **axes, series=[{"name": "a", "points": drawn}]))
    browser.until("document.querySelector('canvas')")
    ticks = [one for one in browser.run("return window.said") if re.fullmatch(r"[1-9][0-9.]*", one)]
    assert len(ticks) == len(set(ticks)) > 0
    assert all(one.isdigit() for one in ticks)


def test_an_axis_whose_format_would_repeat_a_tick_is_written_with_more_digits(browser: Browser, tmp_path: Path):
    drawn = "[{x: 1, y: 0.971}, {x: 2, y: 0.979}, {x: 3, y: 0.975}]"
    axes = "x: {label: 'n', format: whole}, y: {label: 'f', format: two}"
    chart = f"{{title: 't', {axes}, series: [{{name: 'a', points: {drawn}}}]}}"
    opened(browser, tmp_path, SAID, f"main.append(lineChart({chart}));")
    browser.until("document.querySelector('canvas')")
    ticks = [one for one in browser.run("return window.said") if one.startswith("0.97")]
    assert len(ticks) == len(set(ticks)) > 2


def test_points_that_lie_on_each_other_are_both_seen(browser: Browser, tmp_path: Path):
    drawn = [{"x": 1, "y": 0.5, "low": 0.4, "high": 0.6}, {"x": 2, "y": 0.7, "low": 0.6, "high": 0.8}]
    series = [{"name": "measured", "points": drawn, "open": True}, {"name": "held out", "points": drawn}]
    axes = {"x": {"label": "cost"}, "y": {"label": "fidelity"}}
    opened(browser, tmp_path, figure("scatterChart", title="t", **axes, series=series))
    browser.until("document.querySelector('canvas')")
    assert ink(browser, 0) > 30
    assert ink(browser, 1) > 30
    assert browser.run("return document.querySelectorAll('.swatch .open').length") == 1
