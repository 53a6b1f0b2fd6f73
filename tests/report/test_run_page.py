"""The views of runs and studies in a real browser: what is shown is what the data say, and addresses name it."""

import asyncio
import json
from pathlib import Path

import pytest

from report_browser import CONTRAST, Browser
from report_charts import page_with
from reported import data_of, report_of
from reported_runs import simulation_file, trained, training_folder

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger and a watched run of ten steps, an unfinished study with a failed run, and a simulation."""
    folder = tmp_path_factory.mktemp("runs")
    run = asyncio.run(trained(folder, steps=10))
    finished = [("fair", 0), ("fair", 1), ("early, arrival", 0), ("early, arrival", 1)]
    study = training_folder(folder / "study", finished=finished, failed=[("early, arrival", 2)])
    return report_of(folder, run.ledger, run.watched, study, simulation_file(folder / "sim.json"))


def test_the_views_are_those_that_the_file_has_data_for(browser: Browser, page: Path, tmp_path: Path):
    browser.open(page)
    assert browser.texts("nav.views a") == ["Groups", "Judge", "Run", "Study"]
    browser.open(report_of(tmp_path, simulation_file(tmp_path / "sim.json")))
    assert browser.text("h1") == "sim.json"
    assert browser.text(".item-title h2") == "Simulated"
    assert browser.texts("nav.views a") == []


def test_a_run_shows_its_alarms_first_and_the_numbers_of_its_curves(browser: Browser, page: Path):
    run = data_of(page)["run"][0]
    browser.open(page, "#view=run")
    ends = ["" if one["until"] is None else f" to {one['until']}" for one in run["alarms"]]
    assert browser.texts(".alarms li") == [
        f"step {one['at']}{end} {one['text']}" for one, end in zip(run["alarms"], ends, strict=True)
    ]
    assert run["alarms"], "the test can fail"
    assert browser.texts(".charts figcaption h3") == [one["title"] for one in run["panels"]]
    browser.click(".charts .chart details summary")
    cells = browser.texts(".charts .chart:first-child tbody tr:nth-child(3) > *")
    reward = next(line for line in run["panels"][0]["lines"] if line["label"] == "judge's reward")
    assert cells[0] == "2"
    assert cells[1].startswith(f"{reward['mean'][2]:.3f} ")
    assert len(browser.texts(".charts .chart:first-child tbody tr")) == 10


def test_the_band_of_a_correlation_ends_at_one(browser: Browser, tmp_path: Path):
    line = {"label": "with gold", "mean": [0.9, 0.2], "half": [0.3, 0.1]}
    panels = [
        {"key": "fidelity", "title": "bounded", "note": "", "within": [-1, 1], "lines": [line]},
        {"key": "reward", "title": "free", "note": "", "within": [None, None], "lines": [line]},
    ]
    nothing = dict.fromkeys(("steady", "alarms", "examples", "lacks", "facts", "counts"), ())
    run = {"name": "r", "title": "", "x": "step", "at": [0, 1], "from": [0, 1], "panels": panels, **nothing}
    about: dict[str, list[str]] = {"runs": [], "sources": []}
    code = f"const view = new RunView([{json.dumps(run)}], {json.dumps(about)}, []); main.append(view.element);"
    browser.open(page_with(tmp_path, f"{code} view.follow(new URLSearchParams());"))
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
    browser.until("document.querySelectorAll('tbody tr').length === 4")
    assert browser.texts("tbody td") == [
        "0.900 (0.600 to 1.000)", "0.200 (0.100 to 0.300)", "0.900 (0.600 to 1.200)", "0.200 (0.100 to 0.300)",
    ]  # fmt: skip


def test_the_groups_of_a_step_are_links_to_them(browser: Browser, page: Path):
    browser.open(page, "#view=run&point=4")
    assert browser.text("output") == "step 3: 4 groups"
    assert browser.texts(".examples a") == [f"step 3 prompt {n}" for n in range(4)]
    browser.run("const one = document.querySelector('input[type=range]'); one.value = 5;"
                "one.dispatchEvent(new Event('input'))")  # fmt: skip
    assert browser.texts(".examples a")[0] == "step 5 prompt 0"
    assert browser.run("return location.hash") == "#view=run&run=1&point=6"
    browser.click(".examples a", "step 5 prompt 2")
    browser.until("document.querySelector('.group-head h2')?.innerText === 'step 5 prompt 2'")


def test_a_watched_run_links_its_groups_too(browser: Browser, page: Path):
    browser.open(page, "#view=run&run=2&point=2")
    browser.until("document.querySelector('h2').innerText === 'A watched run'")
    assert browser.texts(".items a") == ["runs.db, run 1", "watched"]
    assert browser.texts(".examples a")[0] == "step 1 prompt 0"
    assert "Length of responses in characters" in browser.texts(".charts figcaption h3")


def test_a_study_shows_whether_it_counts_what_failed_and_what_is_missing(browser: Browser, page: Path):
    browser.open(page, "#view=study")
    assert browser.text(".item-title h2") == "Two judges"
    assert browser.text(".validity .status") == "not checked wholly"
    assert browser.texts(".alarms li") == ["early, arrival, seed 2: OSError: the disk is full"]
    assert browser.texts(".lacking li")[0] == "The study is not finished: 4 of 6 runs are."


def choose(browser: Browser, what: str, value: str) -> None:
    browser.run(
        "const one = document.querySelector(`[data-choice='${arguments[0]}']`); one.value = arguments[1];"
        "one.dispatchEvent(new Event('change'))", what, value,
    )  # fmt: skip


def test_curves_and_differences_of_a_study_are_chosen_and_named_by_the_address(browser: Browser, page: Path):
    browser.open(page, "#view=study&curve=length")
    browser.click(".chooser input[type=checkbox]")
    assert browser.text("figure .series") == "early, arrival \u2212 fair"
    browser.click("figure.chart details summary")
    rows = [browser.texts(f"figure.chart tbody tr:nth-child({n}) td")[0] for n in range(1, 5)]
    assert [one.split(" ")[0] for one in rows] == ["0.000", "\u22121.000", "\u22122.000", "\u22123.000"]
    choose(browser, "figure", "length")
    assert browser.text(".categories td.number b") == "\u22122.500"
    address = browser.run("return location.hash")
    browser.open(page, address)
    assert browser.text("figure .series") == "early, arrival \u2212 fair"
    assert browser.text(".categories td.number b") == "\u22122.500"


def test_held_out_curves_are_drawn_over_what_they_have(browser: Browser, page: Path):
    browser.open(page, "#view=study")
    options = browser.texts("[data-choice='over'] option")
    assert options[:3] == ["GRPO step", "GRPO step, held-out prompts",
                           "KL from the first policy (nats), mean over runs, held-out prompts"]  # fmt: skip
    choose(browser, "over", "kl/held-out")
    assert "KL from the first policy" in browser.run("return document.querySelector('.plot-area').ariaLabel")
    choose(browser, "arms", "with fair")
    assert browser.texts("figure .series") == ["fair", "early, arrival"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["#view=run", "#view=study"])
def test_all_text_has_the_contrast_that_wcag_asks_for(browser: Browser, page: Path, scheme: str, address: str):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.open(page, address)
    assert browser.run(CONTRAST) == []
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("width", [390, 320])
@pytest.mark.parametrize("address", ["#view=run", "#view=study"])
def test_nothing_is_wider_than_a_phone(browser: Browser, page: Path, width: int, address: str):
    browser.resize(width, 844)
    browser.open(page, address)
    browser.until("document.querySelector('.view:not([hidden]) main')")
    assert browser.run("return document.querySelector('.view:not([hidden])').scrollWidth") <= width


HOSTILE = '</script><img src=x onerror="document.title=1">\u202e'


def test_names_in_a_study_are_never_html(browser: Browser, tmp_path: Path):
    path = simulation_file(tmp_path / "sim.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    found["title"] = found["arms"][0]["name"] = found["arms"][1]["against"] = HOSTILE
    path.write_text(json.dumps(found), encoding="utf-8")
    browser.open(report_of(tmp_path, path), "#view=study")
    assert browser.run("return document.images.length") == 0
    assert "U+202E" in browser.text(".item-title h2")
    assert "onerror" in browser.text("figure .series")
    assert [one for one in browser.driver.get_log("browser") if one["level"] == "SEVERE"] == []
