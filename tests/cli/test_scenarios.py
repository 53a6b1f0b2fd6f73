"""``calipers scenarios``, as a person runs it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calipers.cli import main
from calipers.cli.scenario_files import read_rows
from calipers.generation.prompts import read_prompts
from scenario_writers import words

Run = Callable[..., tuple[int, str, str]]
LEVELS = ("easy", "medium", "hard")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``calipers scenarios`` beside a writer's answers for 12 scenarios of two topics."""
    inputs = [
        {"inputs": [{"difficulty": LEVELS[place % 3], "text": f"{words(place + first)}?"} for place in range(6)]}
        for first in (10, 30)
    ]
    replies = [{"text": json.dumps(one)} for one in ({"topics": ["fares", "seats"]}, *inputs)]
    (tmp_path / "writer.jsonl").write_text("\n".join(map(json.dumps, replies)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["calipers", "scenarios", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def written(run: Run, out: str, *more: str) -> tuple[int, str, str]:
    return run("a task", "-n", "12", "-o", out, "--judge", "scripted:writer.jsonl", "--validation", "0.25", *more)


def test_scenarios_are_prompts_and_their_split_is_beside_them(run: Run, tmp_path: Path) -> None:
    code, out, told = written(run, "train.jsonl")
    assert (code, told) == (0, "")
    assert "12 of 12 scenarios by 3 calls in 1 round: 9 for training, 3 for validation" in out
    rows = read_rows("train.jsonl")
    assert {one["difficulty"] for one in rows.values()} == set(LEVELS)
    assert [one.id for one in read_prompts(str(tmp_path / "train.jsonl"))] == list(rows)
    assert len(read_rows("train.validation.jsonl")) == 3
    assert not set(rows) & set(read_rows("train.validation.jsonl"))
    assert written(run, "train.jsonl")[0] == 0  # its own file is replaced
    (tmp_path / "mine.jsonl").write_text('{"prompt": "x"}')
    code, _, told = written(run, "mine.jsonl")
    assert (code, "is not a file of scenarios" in told) == (2, True)


def test_arts_collection_has_its_fields(run: Run, tmp_path: Path) -> None:
    written(run, "train.json")
    found = json.loads((tmp_path / "train.json").read_text(encoding="utf-8"))["scenarios"]
    assert {one["difficulty"] for one in found} == {1, 3, 5}
    assert all(one["task"].endswith("?") for one in found)


def test_verls_rows_are_prompts_too(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    written(run, "train.parquet")
    first = read_prompts(str(tmp_path / "train.parquet"))[0]
    assert set(first.row) == {"id", "data_source", "prompt", "ability", "reward_model", "extra_info"}
    assert first.row["extra_info"]["split"] == "train"
    assert next(iter(read_rows("train.parquet"))) == first.id


def test_a_folder_for_datasets(run: Run) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed: pip install datasets")
    assert written(run, "folder")[0] == 0
    found = datasets.load_from_disk("folder")
    assert {name: len(side) for name, side in found.items()} == {"train": 9, "validation": 3}


def test_without_datasets_a_folder_is_refused_before_anything_is_asked(run: Run, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    code, _, told = written(run, "folder")
    assert (code, "pip install datasets" in told) == (2, True)


@pytest.mark.parametrize(("more", "complaint"), [
    (("-o", "train.csv"), "name it .jsonl, .parquet (verl), .json (ART)"),
    (("-o", "none/train.jsonl"), "its folder does not exist"),
    (("--tools", "writer.jsonl", "--mcp", "x"), "--tools and --mcp both name the agent's tools"),
])  # fmt: skip
def test_a_mistake_is_said_before_anything_is_asked(run: Run, more: tuple[str, ...], complaint: str) -> None:
    code, _, told = written(run, "train.jsonl", *more)
    assert (code, complaint in told) == (2, True)


def test_what_differs_is_kept_as_it_was(run: Run, tmp_path: Path) -> None:
    written(run, "train.jsonl")
    names = list(read_rows("train.jsonl"))
    scores: dict[str, list[float | None]] = {names[0]: [0.0, 1.0, None], names[1]: [1.0, 1.0], names[2]: [0.0, 0.0]}
    lines = [
        json.dumps({"group_id": name, "trajectories": [{"id": str(n), "score": one} for n, one in enumerate(told)]})
        for name, told in scores.items()
    ]
    (tmp_path / "scored.jsonl").write_text("\n".join(lines), encoding="utf-8")
    code, out, _ = run("keep", "train.jsonl", "scored.jsonl", "-o", "kept.jsonl")
    assert code == 0
    assert [line.split("  ")[-1] for line in out.splitlines()[:5]] == [
        "differ: kept", "always solved", "never solved", "fewer than two scores", "without rollouts",
    ]  # fmt: skip
    assert [int(line.split()[0]) for line in out.splitlines()[:5]] == [1, 1, 1, 0, 6]
    assert "Advice: groups of" in out
    assert read_rows("kept.jsonl") == {names[0]: read_rows("train.jsonl")[names[0]]}
    (tmp_path / "scored.jsonl").write_text(json.dumps({"group_id": "other"}), encoding="utf-8")
    code, _, told = run("keep", "train.jsonl", "scored.jsonl", "-o", "kept.jsonl")
    assert (code, "none of its 1 groups is one of the scenarios" in told) == (2, True)
