"""A comparison of judges is known by its content; its figures are those of the file, and what it lacks is None."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from calipers.cli import app
from calipers.errors import InputError
from calipers.report.judge_files import is_judge_file, read_judge_file
from report_browser import Browser
from reported import data_of, report_of

TOML = """
title = "Two judges"
groups = "groups.jsonl"
samples = 1
rewrites = ["verbose", "confident"]

[judges.fair]

[judges.wordy]
vices = [{ kind = "LengthBias", per_doubling = 0.1 }]
"""
HOSTILE = "</script><img src=x onerror=window.ran=1>\u202e"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a comparison of two judges."""
    folder = tmp_path_factory.mktemp("compared")
    answers = {name: f"I think it is {at}. " + "As one can add. " * at for at, name in enumerate("abcd")}
    lines = [
        {"group_id": f"g{n}", "context": [{"role": "user", "content": f"{n}?"}], "trajectories": [
            {"id": name, "gold": (at + n) % 4 / 4, "messages": [{"role": "assistant", "content": text}]}
            for at, (name, text) in enumerate(answers.items())
        ]}
        for n in range(6)
    ]  # fmt: skip
    (folder / "groups.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (folder / "judges.toml").write_text(TOML, encoding="utf-8")
    done = CliRunner().invoke(app, ["study", "compare", str(folder / "judges.toml"), "-o", str(folder / "out")])
    assert done.exit_code == 0, done.output
    return folder / "out"


def test_a_comparison_is_read_with_its_figures(compared: Path):
    path = compared / "comparison.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    found = read_judge_file(str(path))
    assert is_judge_file(str(path))
    assert (found["kind"], found["title"], found["alpha"]) == ("comparison", "Two judges", told["alpha"])
    for judge, cell in zip(found["judges"], told["cells"], strict=True):
        pearson = cell["measures"]["agreement"]["pearson"]
        assert judge["figures"]["fidelity"] == [pearson["value"], pearson["low"], pearson["high"]]
        assert judge["unknown"]["injection"] == "no candidate addresses the judge"
        assert [one[0] for one in judge["positions"]] == [one["value"] for one in cell["measures"]["position"]["curve"]]
    cards = {card["title"]: card["rows"] for card in found["cards"]}
    assert [row["name"] for row in cards["What a rewrite adds"]] == [
        "verbose, fair", "verbose, wordy", "confident, fair", "confident, wordy",
    ]  # fmt: skip
    added = {row["name"]: row["value"] for row in cards["What a rewrite adds"]}
    assert added["verbose, wordy"] == told["cells"][1]["rewrites"]["verbose"]["value"] > 0.1
    assert abs(added["verbose, fair"]) < 0.02
    assert cards["Agreement of judges"][0]["value"] == told["pairs"][0]["tau_b"]["value"]
    assert [one["answer"] for one in found["moved"]] == [one["id"] for one in told["moved"]]


def test_the_file_and_its_folder_are_sources(compared: Path, tmp_path: Path):
    alone = data_of(report_of(tmp_path, compared / "comparison.json"))
    assert ([one["kind"] for one in alone["judge"]], alone["rows"]) == (["comparison"], [])
    whole = data_of(report_of(tmp_path, compared))
    assert [one["kind"] for one in whole["judge"]] == ["judged", "comparison"]
    assert whole["rows"], "the folder's ledger has groups"


@pytest.mark.parametrize("value", [
    {}, {"cells": [7, {}]}, {"cells": [{"name": "old", "measures": {"agreement": 3}, "rewrites": {"verbose": "x"}}]},
    {"cells": "x", "pairs": [{}], "moved": [{"scores": [1]}], "criteria": [{}], "notes": [3], "alpha": float("nan")},
])  # fmt: skip
def test_what_a_file_lacks_is_none(tmp_path: Path, value: dict[str, Any]):
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps({"format": "calipers-comparison/1", **value}), encoding="utf-8")
    found = read_judge_file(str(path))
    assert found["alpha"] is None
    for judge in found["judges"]:
        assert set(map(tuple, judge["figures"].values())) == {(None, None, None)}
    assert all(row["value"] is None for card in found["cards"] for row in card["rows"])


def test_a_comparison_that_is_cut_off_or_newer_is_refused_in_a_sentence(tmp_path: Path):
    path = tmp_path / "comparison.json"
    path.write_text('{"format":"calipers-comparison/1","cells":[', encoding="utf-8")
    with pytest.raises(InputError, match=r"begins as a comparison does, but is not JSON.*calipers study compare"):
        read_judge_file(str(path))
    path.write_text('{"format":"calipers-comparison/9","cells":[]}', encoding="utf-8")
    with pytest.raises(InputError, match=r"has the format 'calipers-comparison/9'; this version of calipers shows"):
        report_of(tmp_path, path)


def test_a_redacted_report_does_not_say_why_a_judge_failed(tmp_path: Path):
    path = tmp_path / "comparison.json"
    cell = {"name": "gone", "failed": "it said: secret"}
    path.write_text(json.dumps({"format": "calipers-comparison/1", "cells": [cell]}), encoding="utf-8")
    assert read_judge_file(str(path))["judges"][0]["failed"] == "it said: secret"
    assert "secret" not in json.dumps(read_judge_file(str(path), redact=True))


@pytest.mark.timeout(300)
def test_the_page_shows_what_rewrites_add_and_runs_no_name(browser: Browser, compared: Path, tmp_path: Path):
    told = json.loads((compared / "comparison.json").read_text(encoding="utf-8"))
    told["cells"][0] |= {"name": HOSTILE, "failed": HOSTILE}
    told["title"] = HOSTILE
    told["notes"] = [HOSTILE]
    told["cells"][1]["rewrites"][HOSTILE] = {"value": None, "reason": HOSTILE}
    (tmp_path / "c.json").write_text(json.dumps(told), encoding="utf-8")
    browser.open(report_of(tmp_path, tmp_path / "c.json"))
    browser.until("document.querySelector('.judges canvas')")
    assert "What a rewrite adds" in browser.texts(".cards h3")
    value = told["cells"][1]["rewrites"]["verbose"]["value"]
    assert f"{value:.3f}" in browser.text(".cards figure")
    browser.click("main > section > details summary", "most differently")
    browser.until("document.querySelectorAll('.folded .numbers-table tbody tr').length > 0")
    assert browser.run("return window.ran === undefined && document.images.length === 0")
    assert "U+202E" in browser.text("main.judges h2")
    browser.resize(390, 844)
    assert browser.run("return document.querySelector('.view').scrollWidth") <= 390
