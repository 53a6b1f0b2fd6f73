"""``calipers rubric``, run as a person runs it: drafts, checks, and scores in which every response counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calipers import read_rubric
from command_line import Calipers, mismatches, read_rows, write_rows
from groups import FOUR, group_of
from servers.faulty_server import Answer, Asked, FaultyServer, said

pytestmark = pytest.mark.usefixtures("folder")
DRAFT = ("rubric", "draft", "groups.jsonl", "-o", "r.toml", "--first", "2", "--judge", "vllm/m", "--base-url")


def drafts(asked: Asked) -> Answer:
    """Proposes two criteria, of which one is always met, and grades by them."""
    system, user = (str(message["content"]) for message in asked.body["messages"])
    if "You write criteria" in system:
        proposed = [{"text": "States the sum 42.", "points": 4}, {"text": "Is an answer.", "points": 2}]
        return said(json.dumps({"criteria": proposed}))
    met = {"States the sum 42.": "\n42\n" in user, "Is an answer.": True}
    lines = [line.partition(". ") for line in system.splitlines() if line[:1].isdigit()]
    return said(json.dumps({number: {"reason": "r", "met": met[text]} for number, _, text in lines}))


def test_a_draft_is_a_rubric_with_its_figures_and_costs_nothing_twice(calipers: Calipers, faulty: FaultyServer) -> None:
    faulty.script(drafts)
    run = calipers(*DRAFT, faulty.url)
    assert (run.code, run.out) == (0, ""), run.err
    assert "4 proposals, 1 kept, 1 dropped" in run.err
    written = Path("r.toml").read_text(encoding="utf-8")
    assert "# it never separates the trajectories of a group" in written
    assert [one.text for one in read_rubric("r.toml").criteria] == ["States the sum 42."]
    calls = len(faulty.posts)
    assert calls == 2 + 2 * 4 * 2
    assert calipers(*DRAFT, faulty.url, "--force").code == 0
    assert (Path("r.toml").read_text(encoding="utf-8"), len(faulty.posts)) == (written, calls)
    assert "States the sum 42." in calipers("rubric", "check", "r.toml").out


def test_a_draft_that_comes_to_nothing_says_why_and_writes_nothing(calipers: Calipers, faulty: FaultyServer) -> None:
    faulty.script(said("No."))
    run = calipers(*DRAFT, faulty.url)
    assert (run.code, run.err.count("the reply holds")) == (2, 1)  # once for all groups
    assert "no criteria were drafted: the reply holds" in run.err
    assert not Path("r.toml").exists()


def test_a_rubric_that_rewards_its_own_words_fails_its_audit(calipers: Calipers, faulty: FaultyServer) -> None:
    """Whoever names the sum gets the point, in an answer or in a list of the rubric's words."""
    Path("r.toml").write_text('[[criteria]]\ntext = "States 42."\npoints = 4\n', encoding="utf-8")
    text = "I add. It is 42. So it is. Done."
    members = [{"id": "a", "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]}]
    write_rows(Path("g.jsonl"), [{"group_id": f"g{n}", "trajectories": members} for n in range(2)])

    def grades(asked: Asked) -> Answer:
        return said(json.dumps({"1": {"met": "42" in asked.body["messages"][1]["content"]}}))

    faulty.script(grades)
    run = calipers("rubric", "check", "r.toml", "--on", "g.jsonl", "--judge", "vllm/m", "--base-url", faulty.url)
    assert (run.code, run.out.splitlines()[-1]) == (1, "rewarded though worse: keywords, confident"), run.err
    assert "half" in run.out


def test_mistakes_are_one_sentence(calipers: Calipers) -> None:
    Path("k.toml").write_text('[[criteria]]\ntext = "Is kind."\n', encoding="utf-8")
    Path("bad.toml").write_text('[[criteria]]\ntext = "x"\npoints = "two"\n', encoding="utf-8")
    Path("rules.toml").write_text('[[criteria]]\nid = "r"\ntext = "Has no comma."\nrule = { not = { regx = {} } }\n')
    draft = ("rubric", "draft", "groups.jsonl", "-o")
    score = ("score", "groups.jsonl", "-o", "o", "--protocol", "checklist")
    cases: list[tuple[tuple[str, ...], str]] = [
        (("rubric", "check", "none.toml"), "none.toml: there is no such file"),
        (("rubric", "check", "k.toml", "--on", "groups.jsonl"), "give both --on GROUPS and --judge"),
        (("rubric", "check", "k.toml", "--on", "groups.jsonl", "--judge", "embedded"), "name a real judge"),
        (("rubric", "check", "rules.toml"), "criterion 'r': rule: unknown verifier 'regx'; did you mean regex?"),
        ((*draft, "no/r.toml", "--judge", "vllm/m"), "its folder does not exist"),
        ((*draft, "r.toml", "--judge", "m"), "is not a judge name"),
        ((*draft, "r.toml", "--judge", "embedded"), "name a real judge"),
        ((*score, "--rubric", "bad.toml"), "bad.toml: criterion 1: points must be a finite number"),
        ((*score, "--grading", "relative"), "--grading relative: write KEY=VALUE, as in mode=relative"),
        ((*score, "--grading", "mode=some"), "mode='some'"),
        ((*score, "--grading", "points=1"), "no field 'points'"),
    ]
    assert mismatches(calipers, cases) == []


def test_a_check_prints_the_criteria_and_what_a_score_can_be(calipers: Calipers) -> None:
    text = (
        '[[criteria]]\nid = "a"\ntext = "Cites."\npoints = 4\nveto = true\n[[criteria]]\ntext = "Lies."\npoints = -2\n'
        'rule = { not = { regex = { pattern = "," } } }\n'
    )
    Path("r.toml").write_text(text, encoding="utf-8")
    run = calipers("rubric", "check", "r.toml")
    assert run.code == 0, run.err
    for words in ("veto", "rule", "2 criteria; scores from -0.5 to 1"):
        assert words in run.out


RUBRIC = '[[criteria]]\nid = "sum"\ntext = "Gives 42."\npoints = 2\n\n[[criteria]]\ntext = "Apologises."\npoints = -1\n'
SAID = ({"right": True, "close": False, "far": False, "silent": False}, dict.fromkeys(FOUR, False) | {"silent": True})


def test_a_rubric_file_grades_and_replays_and_the_embedded_judge_cannot_check_it(
    folder: Path, calipers: Calipers
) -> None:
    write_rows(folder / "groups.jsonl", [group_of(FOUR).to_dict()])
    (folder / "r.toml").write_text(RUBRIC, encoding="utf-8")
    verdicts = [{f"{{{{{name}}}}}": {"met": met} for name, met in said.items()} for said in SAID]
    write_rows(folder / "said.jsonl", [{"text": json.dumps(one)} for one in verdicts])
    asking = ("score", "groups.jsonl", "-o", "out.jsonl", "--protocol", "checklist", "--rubric", "r.toml")
    done = calipers(*asking, "--grading", "mode=relative", "--judge", "scripted:said.jsonl")
    assert done.code == 0, done.err
    (line,) = read_rows(folder / "out.jsonl")
    assert [one["score"] for one in line["trajectories"]] == [1.0, 0.0, 0.0, -0.5]
    assert calipers("replay", "out.jsonl.ledger.db", "-o", "again.jsonl").code == 0
    assert (folder / "again.jsonl").read_bytes() == (folder / "out.jsonl").read_bytes()
    assert calipers(*asking, "--force").code == 1
    (line,) = read_rows(folder / "out.jsonl")
    assert "cannot check criteria" in line["trajectories"][0]["reason"]


GRADED = {"criteria": [{"id": "c", "text": "Kind?", "points": 1, "tags": ["axis:tone"]}]}
VOTES = {"met": True, "votes": [True, False, True]}
GRADE = ("rubric", "score", "groups.jsonl", "r.jsonl", "--json")
TURNS = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
LABELLED: list[dict[str, Any]] = [
    {"group_id": name, "example_tags": ["theme:q"], "trajectories": [{"id": one, "messages": TURNS} for one in "ab"]}
    for name in ("p1", "p2")
]


@pytest.fixture
def graded(folder: Path) -> Path:
    """A folder with two groups of two responses, and a rubric of one criterion."""
    write_rows(folder / "groups.jsonl", [group | {"rubric": GRADED} for group in LABELLED])
    return folder


def result(name: str, *members: dict[str, Any], **verdicts: dict[str, Any]) -> dict[str, Any]:
    rows = [{"id": one, "criteria": {"c": verdict}} for one, verdict in verdicts.items()]
    return {"group_id": name, "trajectories": [*members, *rows]}


def test_several_verdicts_count_by_their_share(graded: Path, calipers: Calipers):
    write_rows(graded / "r.jsonl", [result(name, a=VOTES, b=VOTES) for name in ("p1", "p2")])
    done = calipers(*GRADE)
    found = json.loads(done.out)
    assert (done.code, set(found)) == (0, {"overall", "axis:tone", "theme:q"})
    for one in found.values():
        assert (one["graded"], one["ungraded"], one["mean"]) == (4, 0, pytest.approx(2 / 3))


def test_responses_without_a_verdict_are_ungraded_and_never_0(graded: Path, calipers: Calipers):
    failed = {"group_id": "p2", "trajectories": [{"id": "a", "status": "failed"}]}
    undecided = result("p2", a={"met": None}, b={"met": None})
    for second in ([], [failed], [undecided]):
        write_rows(graded / "r.jsonl", [result("p1", a={"met": True}, b={"met": False}), *second])
        done = calipers(*GRADE)
        overall = json.loads(done.out)["overall"]
        assert (done.code, overall["graded"], overall["ungraded"], overall["mean"]) == (1, 2, 2, 0.5)


def test_groups_without_a_rubric_have_the_one_that_was_given_to_score(graded: Path, calipers: Calipers):
    write_rows(graded / "groups.jsonl", LABELLED)
    write_rows(graded / "r.jsonl", [result("p1", a=VOTES, b=VOTES)])
    assert mismatches(calipers, [(GRADE, "groups.jsonl: no group in it has a rubric with criteria; ")]) == []
    (graded / "rubric.json").write_text(json.dumps(GRADED))
    overall = json.loads(calipers(*GRADE, "--rubric", "rubric.json").out)["overall"]
    assert (overall["graded"], overall["ungraded"], overall["mean"]) == (2, 2, pytest.approx(2 / 3))


def test_results_of_other_groups_are_refused_with_their_line(graded: Path, calipers: Calipers):
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
        write_rows(graded / "r.jsonl", lines)
        wrong += mismatches(calipers, [(GRADE, words)])
    assert wrong == []
