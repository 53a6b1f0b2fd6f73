"""``calipers rubric score``: every response counts, several verdicts as their share, and strangers are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import Calipers, mismatches, write_rows

RUBRIC = {"criteria": [{"id": "c", "text": "Kind?", "points": 1, "tags": ["axis:tone"]}]}
VOTES = {"met": True, "votes": [True, False, True]}
SCORE = ("rubric", "score", "groups.jsonl", "r.jsonl", "--json")
SAID = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
GROUPS: list[dict[str, Any]] = [
    {"group_id": name, "example_tags": ["theme:q"], "trajectories": [{"id": one, "messages": SAID} for one in "ab"]}
    for name in ("p1", "p2")
]


@pytest.fixture(autouse=True)
def _graded(tmp_path: Path) -> None:
    """Two groups of two responses, with a rubric of one criterion."""
    write_rows(tmp_path / "groups.jsonl", [group | {"rubric": RUBRIC} for group in GROUPS])


def result(name: str, *members: dict[str, Any], **verdicts: dict[str, Any]) -> dict[str, Any]:
    rows = [{"id": one, "criteria": {"c": verdict}} for one, verdict in verdicts.items()]
    return {"group_id": name, "trajectories": [*members, *rows]}


def test_several_verdicts_count_by_their_share(calipers: Calipers, tmp_path: Path):
    write_rows(tmp_path / "r.jsonl", [result(name, a=VOTES, b=VOTES) for name in ("p1", "p2")])
    done = calipers(*SCORE)
    found = json.loads(done.out)
    assert (done.code, set(found)) == (0, {"overall", "axis:tone", "theme:q"})
    for one in found.values():
        assert (one["graded"], one["ungraded"], one["mean"]) == (4, 0, pytest.approx(2 / 3))


def test_responses_without_a_verdict_are_ungraded_and_never_0(calipers: Calipers, tmp_path: Path):
    failed = {"group_id": "p2", "trajectories": [{"id": "a", "status": "failed"}]}
    undecided = result("p2", a={"met": None}, b={"met": None})
    for second in ([], [failed], [undecided]):
        write_rows(tmp_path / "r.jsonl", [result("p1", a={"met": True}, b={"met": False}), *second])
        done = calipers(*SCORE)
        overall = json.loads(done.out)["overall"]
        assert (done.code, overall["graded"], overall["ungraded"], overall["mean"]) == (1, 2, 2, 0.5)


def test_groups_without_a_rubric_have_the_one_that_was_given_to_score(calipers: Calipers, tmp_path: Path):
    write_rows(tmp_path / "groups.jsonl", GROUPS)
    write_rows(tmp_path / "r.jsonl", [result("p1", a=VOTES, b=VOTES)])
    assert mismatches(calipers, [(SCORE, "groups.jsonl: no group in it has a rubric with criteria; ")]) == []
    (tmp_path / "rubric.json").write_text(json.dumps(RUBRIC))
    overall = json.loads(calipers(*SCORE, "--rubric", "rubric.json").out)["overall"]
    assert (overall["graded"], overall["ungraded"], overall["mean"]) == (2, 2, pytest.approx(2 / 3))


def test_results_of_other_groups_are_refused_with_their_line(calipers: Calipers, tmp_path: Path):
    twice, other = {"id": "a", "criteria": {}}, {"id": "a", "criteria": {"other": {"met": True}}}
    cases: list[tuple[list[Any], str]] = [
        ([result("p1", a=VOTES), result("p1", a=VOTES)], "r.jsonl:2: group 'p1' is there a second time"),
        ([result("p1", twice, twice)], "response 'a' is there twice"),
        ([result("p1", other)], "its rubric has no criterion 'other'"),
        ([result("p1", nope=VOTES)], "r.jsonl:1: group 'p1': response 'nope' is not in GROUPS"),
        ([result("p3", a=VOTES)], "r.jsonl:1: group 'p3' is not in GROUPS"),
        ([{"group_id": "p1", "trajectories": 5}], "r.jsonl:1: has no list of trajectories"),
        ([result("p1", {"id": "a"})], "holds no verdicts on criteria"),
    ]
    wrong: list[object] = []
    for lines, words in cases:
        write_rows(tmp_path / "r.jsonl", lines)
        wrong += mismatches(calipers, [(SCORE, words)])
    assert wrong == []
