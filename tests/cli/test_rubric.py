"""``calipers rubric``: drafting and checking, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

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
    assert "4 proposals, 1 criteria kept, 1 dropped" in run.err
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
    assert "proposed no criteria that could be read: the reply holds no criteria" in run.err
    assert not Path("r.toml").exists()


def test_mistakes_are_one_sentence(calipers: Calipers) -> None:
    Path("bad.toml").write_text('[[criteria]]\ntext = "x"\npoints = "two"\n', encoding="utf-8")
    Path("rules.toml").write_text('[[criteria]]\nid = "r"\ntext = "Has no comma."\nrule = { not = { regx = {} } }\n')
    draft = ("rubric", "draft", "groups.jsonl", "-o")
    score = ("score", "groups.jsonl", "-o", "o", "--protocol", "checklist")
    cases: list[tuple[tuple[str, ...], str]] = [
        (("rubric", "check", "none.toml"), "none.toml: there is no such file"),
        (("rubric", "check", "rules.toml"), "criterion 'r': rule: unknown verifier 'regx'; did you mean regex?"),
        ((*draft, "no/r.toml", "--judge", "vllm/m"), "its folder does not exist"),
        ((*draft, "r.toml", "--judge", "m"), "is not a judge name"),
        ((*draft, "r.toml", "--judge", "embedded"), "proposes no criteria; name a real judge"),
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
