"""``calipers scenarios``, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.generation.prompts import read_prompts
from calipers.scenarios.files import read_scenarios
from command_line import Calipers, Ended, mismatches, write_rows
from scenario_writers import words

LEVELS = ("easy", "medium", "hard")
KEEP = ("scenarios", "keep", "train.jsonl", "scored.jsonl", "-o", "kept.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a writer's answers for 12 scenarios of two topics."""
    inputs = [
        {"inputs": [{"difficulty": LEVELS[place % 3], "text": f"{words(place + first)}?"} for place in range(6)]}
        for first in (10, 30)
    ]
    replies(tmp_path, {"topics": ["fares", "seats"]}, *inputs)
    return tmp_path


def replies(folder: Path, *said: Any) -> None:
    texts = (one if isinstance(one, str) else json.dumps(one) for one in said)
    write_rows(folder / "writer.jsonl", [{"text": text} for text in texts])


def written(calipers: Calipers, out: str, *more: str) -> Ended:
    how = ("-n", "12", "-o", out, "--judge", "scripted:writer.jsonl", "--validation", "0.25")
    return calipers("scenarios", "a task", *how, *more)


def result(name: str, *scores: Any) -> dict[str, Any]:
    return {"group_id": name, "trajectories": [{"id": str(place), "score": one} for place, one in enumerate(scores)]}


def test_scenarios_are_prompts_and_their_split_is_beside_them(folder: Path, calipers: Calipers) -> None:
    ended = written(calipers, "train.jsonl")
    assert (ended.code, ended.err) == (0, "")
    assert "12 of 12 scenarios by 3 calls: 9 for training, 3 for validation" in ended.out
    rows, beside = read_scenarios("train.jsonl"), read_scenarios("train.validation.jsonl")
    assert {one["difficulty"] for one in rows.values()} == set(LEVELS)
    assert [one.id for one in read_prompts("train.jsonl")] == list(rows)
    assert (len(beside), set(rows) & set(beside)) == (3, set())
    assert mismatches(calipers, [(("scenarios", "x", "-o", "train.jsonl", "--judge", "vllm/m"), "--force")]) == []
    assert written(calipers, "train.jsonl", "--validation", "0", "--force").code == 0
    assert not (folder / "train.validation.jsonl").exists(), "what it holds is trained on now"


def test_verls_rows_are_prompts_too_and_are_kept_as_they_were(folder: Path, calipers: Calipers) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    tool = {"name": "refund", "input_schema": {"type": "object", "properties": {}}}
    (folder / "tools.json").write_text(json.dumps([tool]), encoding="utf-8")
    assert written(calipers, "train.parquet", "--tools", "tools.json").code == 0
    first = read_prompts("train.parquet")[0]
    assert set(first.row) == {"id", "data_source", "prompt", "ability", "reward_model", "extra_info"}
    assert first.row["extra_info"]["split"] == "train"
    rows = read_scenarios("train.parquet")
    assert next(iter(rows)) == first.id
    few = list(rows)[1:4]
    write_rows(folder / "scored.jsonl", [result(name, 0.0, 1.0) for name in few])
    assert calipers("scenarios", "keep", "train.parquet", "scored.jsonl", "-o", "kept.parquet").code == 0
    assert read_scenarios("kept.parquet") == {name: rows[name] for name in few}


def test_what_differs_is_kept_as_it_was(folder: Path, calipers: Calipers) -> None:
    written(calipers, "train.jsonl")
    rows = read_scenarios("train.jsonl")
    names = list(rows)
    known = [result(names[0], 0.0, 1.0, None), result(names[1], 1.0, 1.0), result(names[2], 0.0, 0.0)]
    write_rows(folder / "scored.jsonl", [*known, result("strange\x1b[2J", 0.0, 1.0), result("p2", 0.0)])
    ended = calipers(*KEEP)
    assert ended.code == 0
    counts = {line.split("  ")[-1]: int(line.split()[0]) for line in ended.out.splitlines()[:5]}
    assert counts == {
        "differ: kept": 1, "always solved": 1, "never solved": 1, "fewer than two scores": 0, "without rollouts": 6,
    }  # fmt: skip
    assert "RESULT has 2 groups whose group_id is no scenario's id" in ended.err
    assert "\x1b" not in ended.err
    assert read_scenarios("kept.jsonl") == {names[0]: rows[names[0]]}


def test_what_is_no_result_of_the_scenarios_is_named(folder: Path, calipers: Calipers) -> None:
    write_rows(folder / "train.jsonl", [{"id": "a", "prompt": "x"}])
    number, line = "its score must be a number", "scored.jsonl:1: is not a line of calipers score"
    cases: list[tuple[Any, str]] = [
        *((result("a", score), number) for score in (float("nan"), True, "0.5", 10**400)),
        ({"group_id": "a", "trajectories": [{"id": "0"}]}, number),
        (result("other", 1.0), "none of its 1 groups is one of the scenarios"),
        ({"group_id": None, "trajectories": []}, line),
        ({"group_id": "a", "trajectories": [5]}, line),
        ([], "scored.jsonl:1: the line is a list"),
        ("", "scored.jsonl: holds no groups"),
    ]
    wrong: list[object] = []
    for row, words_ in cases:
        write_rows(folder / "scored.jsonl", [row])
        wrong += mismatches(calipers, [(KEEP, words_)])
    write_rows(folder / "scored.jsonl", [result("a", 0.0, 1.0)])
    wrong += mismatches(calipers, [((*KEEP[:-1], "kept.parquet"), "needs the suffix of")])
    write_rows(folder / "train.jsonl", [{"prompt": "x"}])
    wrong += mismatches(calipers, [(KEEP, "train.jsonl:1: has no id")])
    assert wrong == []
    assert not (folder / "kept.jsonl").exists()


def test_what_cannot_work_is_refused_before_anything_is_asked(folder: Path, calipers: Calipers) -> None:
    (folder / "here.jsonl").mkdir()
    ask = ("scenarios", "a task", "--judge", "scripted:writer.jsonl", "-o", "train.jsonl")
    cases: list[tuple[tuple[str, ...], str]] = [
        ((*ask, "-o", "train.csv"), "name it .jsonl, or .parquet"),
        ((*ask, "-o", "none/train.jsonl"), "its folder does not exist"),
        ((*ask, "-o", "here.jsonl"), "is a folder; name a file in it"),
        *(((*ask[:3], name, *ask[4:]), "writes no text") for name in ("embedded", "local:x", "profile:x.json")),
    ]  # fmt: skip
    assert mismatches(calipers, cases) == []
    assert not list(folder.glob("*.db"))


def test_why_entries_of_a_reply_are_dropped_is_printed_and_topics_control_no_terminal(
    folder: Path, calipers: Calipers
) -> None:
    entries = [
        {"difficulty": "extreme", "text": words(1)}, {"difficulty": "easy"}, {"difficulty": "easy", "text": words(2)},
        {"difficulty": "medium", "text": words(3)}, {"difficulty": "hard", "text": words(4)},
    ]  # fmt: skip
    replies(folder, {"topics": ["fares\x1b[2J"]}, "No.", {"inputs": entries})
    ended = written(calipers, "out.jsonl", "-n", "3")
    assert (ended.code, "a reply of the writer holds no list of inputs" in ended.err) == (1, True)
    assert "2 were refused: 1 × its difficulty is none of easy, medium, hard, 1 × it has no text" in ended.out
    assert ("\x1b" in ended.out, "fares\\x1b[2J" in ended.out) == (False, True)
