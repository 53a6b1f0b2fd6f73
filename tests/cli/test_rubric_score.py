"""``calipers rubric score``: every response counts, several verdicts as their share, and strangers are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from calipers.cli import app
from calipers.errors import InputError

RUBRIC = {"criteria": [{"id": "c", "text": "Kind?", "points": 1, "tags": ["axis:tone"]}]}
VOTES = {"met": True, "votes": [True, False, True]}


def groups(folder: Path) -> str:
    lines = [
        {
            "group_id": name,
            "rubric": RUBRIC,
            "example_tags": ["theme:q"],
            "trajectories": [{"id": one, "messages": said(one)} for one in "ab"],
        }
        for name in ("p1", "p2")
    ]
    return written(folder / "groups.jsonl", lines)


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "q"}, {"role": "assistant", "content": text}]


def written(path: Path, lines: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def result(name: str, **verdicts: dict[str, Any]) -> dict[str, Any]:
    rows = [{"id": one, "criteria": {"c": verdict}} for one, verdict in verdicts.items()]
    return {"group_id": name, "trajectories": rows}


def scored(folder: Path, *lines: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    arguments = [groups(folder), written(folder / "r.jsonl", list(lines)), "--json"]
    done = CliRunner().invoke(app, ["rubric", "score", *arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, json.loads(done.stdout)


def test_several_verdicts_count_by_their_share(tmp_path: Path):
    code, found = scored(tmp_path, result("p1", a=VOTES, b=VOTES), result("p2", a=VOTES, b=VOTES))
    assert (code, set(found)) == (0, {"overall", "axis:tone", "theme:q"})
    for one in found.values():
        assert (one["graded"], one["ungraded"], one["mean"]) == (4, 0, pytest.approx(2 / 3))


def test_responses_without_a_verdict_are_ungraded_and_never_0(tmp_path: Path):
    failed = {"group_id": "p2", "trajectories": [{"id": "a", "status": "failed"}]}
    open_ = result("p2", a={"met": None}, b={"met": None})
    for second in ([], [failed], [open_]):
        code, found = scored(tmp_path, result("p1", a={"met": True}, b={"met": False}), *second)
        overall = found["overall"]
        assert (code, overall["graded"], overall["ungraded"], overall["mean"]) == (1, 2, 2, 0.5)


def without_rubric(folder: Path) -> str:
    path = groups(folder)
    bare = [
        {key: item for key, item in json.loads(line).items() if key != "rubric"}
        for line in Path(path).read_text().splitlines()
    ]
    return written(Path(path), bare)


def test_groups_without_a_rubric_have_the_one_that_was_given_to_score(tmp_path: Path):
    path, out = without_rubric(tmp_path), written(tmp_path / "r.jsonl", [result("p1", a=VOTES, b=VOTES)])
    with pytest.raises(InputError, match=r"groups\.jsonl: no group in it has a rubric with criteria; .*--rubric FILE"):
        CliRunner().invoke(app, ["rubric", "score", path, out], standalone_mode=False, catch_exceptions=False)
    (tmp_path / "rubric.json").write_text(json.dumps(RUBRIC))
    arguments = [path, out, "--json", "--rubric", str(tmp_path / "rubric.json")]
    done = CliRunner().invoke(app, ["rubric", "score", *arguments], standalone_mode=False, catch_exceptions=False)
    overall = json.loads(done.stdout)["overall"]
    assert (overall["graded"], overall["ungraded"], overall["mean"]) == (2, 2, pytest.approx(2 / 3))


def test_results_of_other_groups_are_refused_with_their_line(tmp_path: Path):
    cases: list[tuple[list[Any], str]] = [
        ([result("p1", a=VOTES), result("p1", a=VOTES)], "r.jsonl:2: group 'p1' is there a second time"),
        ([members({"id": "a", "criteria": {}}, {"id": "a", "criteria": {}})], "response 'a' is there twice"),
        ([members({"id": "a", "criteria": {"other": {"met": True}}})], "its rubric has no criterion 'other'"),
        ([result("p1", nope=VOTES)], "r.jsonl:1: group 'p1': response 'nope' is not in GROUPS"),
        ([result("p3", a=VOTES)], "r.jsonl:1: group 'p3' is not in GROUPS"),
        ([{"group_id": "p1", "trajectories": 5}], "r.jsonl:1: has no list of trajectories"),
        ([members({"id": "a"})], "holds no verdicts on criteria"),
    ]
    for lines, words in cases:
        with pytest.raises(InputError) as refused:
            scored(tmp_path, *lines)
        assert words in str(refused.value)


def members(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"group_id": "p1", "trajectories": list(rows)}
