"""Records of studies: small, without paths, and what the tables of the documentation are made of."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from scripts.study_data.pictures import PICTURES, draw_all
from scripts.study_data.record import DATA, HELD_OUT, MOST_BYTES, record_of, written
from scripts.study_data.tables import pages_with_tables, read_record, table, with_tables

from calipers.errors import InputError
from calipers.study.curves import read_curves
from calipers.study.outcomes import RECORD, difference, figure
from calipers.study.training.results import FORMAT as RESULTS
from calipers.study.training.summary import CURVES, HELD_OUT_CURVES, Trained, run_curves, summarise
from training_studies import study

SEEDS, STEPS, WINDOW = 3, 4, 2
STUDY = study({"name": "content"}, {"name": "arrival", "against": "content"}, seeds=SEEDS, steps=STEPS, window=WINDOW)
NAMES = {*CURVES, "length_spread", "missing"}


def trained(seed: int, length: float) -> Trained:
    steps = [
        {
            **dict.fromkeys(NAMES, 0.125),
            "step": n,
            "length": length - n + seed / 7,
            "length_pull": -n / 3,
            "calls": n,
        }
        for n in range(STEPS)
    ]
    held_out = [
        {**dict.fromkeys(HELD_OUT_CURVES, 0.25), "step": n, "truth": 0.5 + n / 100 + seed / 200, "calls": 12345 * n}
        for n in (0, 2, 4)
    ]
    return Trained(seed, steps, held_out)


RUNS = {"content": [trained(seed, 9.0) for seed in range(SEEDS)], "arrival": [trained(seed, 5.0) for seed in (0, 1)]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a finished study."""
    arms = [
        {
            "name": one.name,
            "against": one.against or None,
            "figures": {name: asdict(value) for name, value in one.figures.items()},
            "curves": run_curves({run.seed: run.steps for run in RUNS[one.name]}, SEEDS, CURVES, range(STEPS)),
            "held_out": run_curves(
                {run.seed: run.evaluations for run in RUNS[one.name]}, SEEDS, HELD_OUT_CURVES, (0, 2, 4)
            ),
        }
        for one in summarise(STUDY.arms, RUNS, WINDOW)
    ]
    results = {
        "format": RESULTS,
        "calipers": "0.2.0",
        "title": "Order",
        "steps": STEPS,
        "window": WINDOW,
        "valid": None,
        "seeds": list(range(SEEDS)),
        "checks": [],
        "failed": [{"run": "arrival, seed 2", "why": "/home/x: full"}],
        "arms": arms,
    }
    (tmp_path / "results.json").write_text(json.dumps(results))
    (tmp_path / "study.json").write_text(json.dumps({"versions": {"torch": "2.13.0"}, "git": {"commit": "abc"}}))
    (tmp_path / "study.toml").write_text('title = "Order"\n')
    return tmp_path


def test_a_record_has_what_the_study_found_and_no_paths(folder: Path) -> None:
    record = json.loads(written(record_of(folder)))
    assert (record["format"], record["toml"], record["git"]) == (RECORD, 'title = "Order"\n', {"commit": "abc"})
    assert record["failed"] == ["arrival, seed 2"]
    content, arrival = record["arms"]
    for name in ("length", "first_length_pull", "held_out_truth", "held_out_truth_area"):
        one, other = summarise(STUDY.arms, RUNS, WINDOW)
        assert figure(content, name).mean == pytest.approx(one.figures[name].mean, rel=2e-3)
        assert figure(content, name).n == SEEDS
        found = difference(arrival, content, name)
        assert found.mean == pytest.approx(other.differences[name].mean, rel=2e-3, abs=1e-6)
        assert found.n == 2
    assert figure(content, "calls").mean == 12345 * 4
    with pytest.raises(InputError, match="no figure 'trueth'"):
        figure(content, "trueth")


def test_curves_of_a_record_are_drawn_as_those_of_the_results(folder: Path) -> None:
    (folder / "record.json").write_bytes(written(record_of(folder)))
    record, results = (read_curves(str(folder / name), over="calls") for name in ("record.json", "results.json"))
    for one, other in zip(record.arms, results.arms, strict=True):
        assert (one.name, one.at, one.against) == (other.name, other.at, other.against)
        for mine, theirs in zip(one.runs["truth"], other.runs["truth"], strict=True):
            assert mine == pytest.approx(theirs, rel=2e-3) if None not in theirs else mine == theirs


def test_curves_may_be_left_out(folder: Path) -> None:
    record = record_of(folder, ["sure", "length"])
    assert "sure" not in record["arms"][0]["held_out"].keys() | record["arms"][0]["figures"].keys()
    with pytest.raises(InputError, match="no 'sur' to leave out; it has truth"):
        record_of(folder, ["sur"])


def changed(folder: Path, file: str, **values: Any) -> None:
    found = json.loads((folder / file).read_bytes())
    (folder / file).write_text(json.dumps(found | values))


def test_what_is_no_study_or_does_not_agree_with_itself_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"results\.json: cannot be read"):
        record_of(tmp_path / "nowhere")
    found = json.loads((folder / "results.json").read_bytes())
    found["arms"][0]["figures"]["length"]["mean"] += 0.1
    changed(folder, "results.json", arms=found["arms"])
    with pytest.raises(InputError, match="arm 'content': length is"):
        record_of(folder)
    changed(folder, "results.json", format="calipers-simulation/1")
    with pytest.raises(InputError, match="is not a result file of calipers study train"):
        record_of(folder)


@pytest.mark.parametrize("path", ["/root/mine", "/home/someone/x", "C:\\Users\\someone"])
def test_a_record_that_would_name_a_path_is_refused(folder: Path, path: str) -> None:
    (folder / "study.toml").write_text(f"# in {path}\n")
    with pytest.raises(InputError, match="would hold a path"):
        written(record_of(folder))


def test_a_record_that_is_too_large_is_refused(folder: Path) -> None:
    (folder / "study.toml").write_text("#" * MOST_BYTES)
    with pytest.raises(InputError, match="at most 220,000 are kept"):
        written(record_of(folder))


def test_a_table_has_figures_and_clear_differences_in_bold(folder: Path) -> None:
    (folder / "order.json").write_bytes(written(record_of(folder)))
    page = "a\n<!-- table of study-data/order.json: length calls of arrival -->\nold\n<!-- end of table -->\nb\n"
    assert with_tables(page, folder) == (
        "a\n<!-- table of study-data/order.json: length calls of arrival -->\n"
        "| arm | less | length | | calls | |\n| --- | --- | --- | --- | --- | --- |\n"
        "| arrival | content | 2.57 | **-4.00 ± 0.00** | 49,380 | +0 ± 0 |\n"
        "<!-- end of table -->\nb\n"
    )
    assert with_tables(with_tables(page, folder), folder) == with_tables(page, folder)
    record = read_record(folder / "order.json")
    assert table(record, ["length"], []).count("\n") == 4
    with pytest.raises(InputError, match="no arm 'arival'"):
        table(record, ["length"], ["arival"])


def test_tables_of_the_documentation_are_those_of_the_records() -> None:
    for page, text in pages_with_tables():
        assert page.read_text(encoding="utf-8") == text, f"{page} is stale: run python -m scripts.study_data tables"


def test_what_is_recorded_is_a_record() -> None:
    for path in sorted(DATA.glob("*.json")):
        require_record(path)


def require_record(path: Path) -> None:
    """Fail unless the file is a record, and its figures can be drawn."""
    record = read_record(path)
    assert record["format"] == RECORD
    assert written(record) == path.read_bytes()
    assert record["title"] in record["toml"]
    names = [arm["name"] for arm in record["arms"]]
    for picture in PICTURES:
        if picture.study == path.stem:
            assert set(picture.arms) <= set(names)
            assert picture.curve in HELD_OUT
    for arm in record["arms"]:
        assert len(arm["held_out"]["truth"]) == len(record["seeds"])


def test_figures_are_drawn_for_studies_that_are_recorded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    monkeypatch.setattr("scripts.study_data.pictures.DATA", tmp_path)
    monkeypatch.setattr("scripts.study_data.pictures.IMAGES", tmp_path)
    assert list(draw_all()) == []
    (folder / "failures.json").write_bytes(written(record_of(folder)))
    monkeypatch.setattr(
        "scripts.study_data.pictures.PICTURES",
        tuple(picture for picture in PICTURES if picture.study == "failures" and picture.differences),
    )
    assert [path.name for path in draw_all()] == [
        "study-failures-truth-differences.png",
        "study-failures-truth-differences.svg",
    ]
