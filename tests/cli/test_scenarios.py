"""``calipers scenarios``, as a person runs it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calipers.cli import main
from calipers.cli.kept_scenarios import read_rollouts, read_scenarios
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


def read_rows(path: str) -> dict[str, Any]:
    return dict(read_scenarios(path).rows)


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


def scored(tmp_path: Path, *lines: Any) -> None:
    (tmp_path / "scored.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")


def result(name: str, *scores: Any) -> dict[str, Any]:
    return {"group_id": name, "trajectories": [{"id": str(place), "score": one} for place, one in enumerate(scores)]}


def kept(run: Run, *files: str) -> tuple[int, str]:
    code, _, told = run("keep", *(files or ("train.jsonl", "scored.jsonl", "-o", "kept.jsonl")))
    return code, told


@pytest.mark.parametrize("score", [float("nan"), float("inf"), True, "0.5", 10**400])
def test_a_score_that_is_no_number_is_named_and_nothing_is_kept(run: Run, tmp_path: Path, score: Any) -> None:
    written(run, "train.jsonl")
    name = next(iter(read_rows("train.jsonl")))
    row = json.dumps(result(name, 0.0)).replace("0.0", "1" + "0" * 400 if isinstance(score, int) else json.dumps(score))
    (tmp_path / "scored.jsonl").write_text(row, encoding="utf-8")
    code, told = kept(run)
    assert (code, "scored.jsonl:1: trajectory '0': its score must be a finite number" in told) == (2, True)
    assert not (tmp_path / "kept.jsonl").exists()


def test_text_in_place_of_a_score_is_shown_as_text(run: Run, tmp_path: Path) -> None:
    written(run, "train.jsonl")
    (tmp_path / "scored.jsonl").write_text(json.dumps(result(next(iter(read_rows("train.jsonl"))), "0")))
    code, told = kept(run)
    assert (code, "or null for none, not '0'" in told) == (2, True)


@pytest.mark.parametrize("status", ["failed", "abstained"])
def test_a_failed_rollout_has_no_score_whatever_stands_beside_it(run: Run, tmp_path: Path, status: str) -> None:
    written(run, "train.jsonl")
    name = next(iter(read_rows("train.jsonl")))
    row = result(name, 1, 0, 0)
    row["trajectories"][0]["status"] = status
    (tmp_path / "scored.jsonl").write_text(json.dumps(row), encoding="utf-8")
    read = read_rollouts("scored.jsonl", {name: {}})
    assert [(one.scores, one.unscored) for one in read.groups] == [((0.0, 0.0), 1)]


@pytest.mark.parametrize(("line", "complaint"), [
    ({"group_id": "other", "trajectories": []}, "none of its 1 group is one of the scenarios"),
    ({"group_id": None, "trajectories": []}, "scored.jsonl:1: is not a line of calipers score"),
    ({"trajectories": 5}, "scored.jsonl:1: is not a line of calipers score"),
    ({"group_id": "a", "trajectories": 5}, "scored.jsonl:1: is not a line of calipers score"),
    ({"group_id": "a", "trajectories": [5]}, "scored.jsonl:1: is not a line of calipers score"),
    ({"group_id": "a", "trajectories": [{"id": "0"}]}, "scored.jsonl:1: its trajectories have no scores"),
    ([], "scored.jsonl:1: the line is a list"),
])  # fmt: skip
def test_what_is_no_result_of_the_scenarios_is_named(run: Run, tmp_path: Path, line: Any, complaint: str) -> None:
    (tmp_path / "train.jsonl").write_text('{"id": "a", "prompt": "x"}', encoding="utf-8")
    scored(tmp_path, line)
    code, told = kept(run)
    assert (code, complaint in told) == (2, True), told


def test_groups_of_other_prompts_are_counted_and_named(run: Run, tmp_path: Path) -> None:
    written(run, "train.jsonl")
    name = next(iter(read_rows("train.jsonl")))
    scored(tmp_path, result(name, 0.0, 1.0), result("strange\x1b[2J", 0.0, 1.0), result("p2", 0.0))
    code, told = kept(run)
    assert (code, "RESULT has 2 groups whose group_id is no scenario's id" in told) == (0, True)
    assert "\x1b" not in told


@pytest.mark.parametrize(("text", "complaint"), [
    ('{"scenarios": 5}', "is not ART's collection of scenarios"),
    ('{"scenarios": [5]}', "train.json:1: is no scenario"),
    ("[" * 100_000, "is not JSON"),
    ('{"scenarios": []}', "holds no scenarios"),
    ("", "is not JSON"),
])  # fmt: skip
def test_a_collection_that_is_none_is_named(run: Run, tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "train.json").write_text(text, encoding="utf-8")
    scored(tmp_path, result("a", 0.0, 1.0))
    code, told = kept(run, "train.json", "scored.jsonl", "-o", "kept.json")
    assert (code, complaint in told) == (2, True), told


@pytest.mark.parametrize(("out", "needs"), [
    ("train.jsonl", ""), ("train.json", ""), ("train.parquet", "pyarrow"), ("folder", "datasets"),
])  # fmt: skip
def test_each_form_is_kept_as_it_was(run: Run, tmp_path: Path, out: str, needs: str) -> None:
    if needs:
        pytest.importorskip(needs, reason=f"{needs} is not installed")
    (tmp_path / "tools.json").write_text(
        json.dumps([{"name": "refund", "input_schema": {"type": "object", "properties": {}}}]), encoding="utf-8"
    )
    assert written(run, out, "--tools", "tools.json")[0] == 0
    rows = read_rows(out)
    few = list(rows)[1:4]
    scored(tmp_path, *(result(name, 0.0, 1.0) for name in few))
    other = f"kept{Path(out).suffix}"
    assert kept(run, out, "scored.jsonl", "-o", other)[0] == 0
    assert read_rows(other) == {name: rows[name] for name in few}
    assert kept(run, out, "scored.jsonl", "-o", other)[0] == 0, "its own file is replaced"
    scored(tmp_path, *(result(name, 0.0, 1.0) for name in rows))
    assert kept(run, out, "scored.jsonl", "-o", other)[0] == 0
    if needs == "datasets":
        assert read_scenarios(other).whole["validation"].to_list() == read_scenarios(out).whole["validation"].to_list()
        assert read_scenarios(other).whole["train"].features == read_scenarios(out).whole["train"].features
    elif needs:
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

        assert pq.read_table(other).equals(pq.read_table(out))
    else:
        assert Path(other).read_bytes() == Path(out).read_bytes()


def test_a_file_is_kept_in_its_own_form_or_not_at_all(run: Run, tmp_path: Path) -> None:
    written(run, "train.jsonl")
    scored(tmp_path, result(next(iter(read_rows("train.jsonl"))), 0.0, 1.0))
    code, told = kept(run, "train.jsonl", "scored.jsonl", "-o", "kept.json")
    assert (code, "name OUT with .jsonl" in told) == (2, True)


@pytest.mark.parametrize("out", ["train.jsonl", "train.json"])
def test_a_split_of_an_earlier_run_does_not_stay_beside_a_new_one(run: Run, tmp_path: Path, out: str) -> None:
    beside = tmp_path / f"train.validation{Path(out).suffix}"
    assert written(run, out)[0] == 0
    assert beside.exists()
    code, _, told = run("a task", "-n", "12", "-o", out, "--judge", "scripted:writer.jsonl", "--validation", "0")
    assert (code, f"Removed {beside.name} of an earlier run" in told) == (0, True)
    assert not beside.exists()
    beside.write_text('{"mine": 1}')
    more = ("--validation", "0", "--force")
    assert run("a task", "-n", "12", "-o", out, "--judge", "scripted:writer.jsonl", *more)[0] == 0
    assert beside.exists(), "it is none of this command's files"


def test_a_split_of_an_earlier_run_does_not_stay_in_a_folder(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed: pip install datasets")
    written(run, "folder")
    run("a task", "-n", "12", "-o", "folder", "--judge", "scripted:writer.jsonl", "--validation", "0")
    assert sorted(one.name for one in (tmp_path / "folder").iterdir()) == ["dataset_dict.json", "train"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    code, _, told = written(run, "full")
    assert (code, "is not a folder of datasets" in told) == (2, True)
    assert not (tmp_path / "full.ledger.db").exists(), "it is refused before anything is asked"


@pytest.mark.parametrize(("more", "complaint"), [
    (("--topic", ""), "is empty"),
    (("--topic", "fares", "--topic", " Fares"), "is there twice"),
    (("-n", "1", "--topic", "fares", "--topic", "seats"), "are too few for 2 sub-topics"),
    (("-o", "here"), "is a folder; name a file"),
])  # fmt: skip
def test_topics_that_cannot_work_are_refused_before_anything_is_asked(
    run: Run, tmp_path: Path, more: tuple[str, ...], complaint: str
) -> None:
    (tmp_path / "here.jsonl").mkdir()
    code, _, told = written(run, "train.jsonl", *(one.replace("here", "here.jsonl") for one in more))
    assert (code, complaint in told) == (2, True), told
    assert not list(tmp_path.glob("*.db"))


def test_why_entries_of_a_reply_are_dropped_is_printed_and_topics_control_no_terminal(run: Run, tmp_path: Path) -> None:
    entries = [
        {"difficulty": "extreme", "text": words(1)}, {"difficulty": "easy"}, {"difficulty": "easy", "text": words(2)},
        {"difficulty": "medium", "text": words(3)}, {"difficulty": "hard", "text": words(4), "tools": ["fly\x1b[2J"]},
    ]  # fmt: skip
    replies = [{"text": "No."}, {"text": json.dumps({"inputs": entries})}]
    (tmp_path / "writer.jsonl").write_text("\n".join(map(json.dumps, replies)), encoding="utf-8")
    tool = {"name": "refund", "input_schema": {"type": "object", "properties": {}}}
    (tmp_path / "tools.json").write_text(json.dumps([tool]), encoding="utf-8")
    ask = ("a task", "-n", "3", "-o", "out.jsonl", "--judge", "scripted:writer.jsonl", "--validation", "0")
    code, out, told = run(*ask, "--topic", "fares\x1b[2J", "--tools", "tools.json")
    assert (code, "a reply of the writer holds no list of inputs" in told) == (1, True), told
    assert "2 were refused: 1 × its difficulty is none of easy, medium, hard, 1 × it has no text" in out
    assert "Named, but none of the tools: fly\\x1b[2J (1)" in out
    assert "\x1b" not in out
    assert "fares\\x1b[2J" in out


@pytest.mark.parametrize("judge", ["embedded", "local:folder", "profile:judge.json"])
def test_a_judge_that_writes_no_text_is_refused(run: Run, tmp_path: Path, judge: str) -> None:
    code, _, told = run("a task", "-o", "train.jsonl", "--judge", judge)
    assert (code, "it scores answers and writes no text" in told) == (2, True)
    assert not list(tmp_path.glob("*.db"))


def test_a_misspelt_command_is_no_task(run: Run) -> None:
    code, _, told = run("kep", "train.jsonl", "scored.jsonl", "-o", "kept.jsonl", "--judge", "scripted:writer.jsonl")
    assert (code, "no such command 'kep'; did you mean keep?" in told) == (2, True)


def test_an_empty_result_is_named(run: Run, tmp_path: Path) -> None:
    written(run, "train.jsonl")
    (tmp_path / "scored.jsonl").write_text("\n")
    assert "scored.jsonl: holds no groups" in kept(run)[1]
