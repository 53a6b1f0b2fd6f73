"""``calipers rubric``: drafting and checking, as a person runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from calipers import read_rubric
from command_line import Calipers, mismatches
from groups import FOUR, group_of
from servers.faulty_server import Answer, Asked, FaultyServer, said

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    """A folder with groups."""
    groups = [group_of(FOUR, group_id=f"g{n}", question=f"What is 17 + 25, once more ({n})?") for n in range(3)]
    lines = (json.dumps(group.to_dict()) + "\n" for group in groups)
    (tmp_path / "groups.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(calipers: Calipers) -> Run:
    """Run ``calipers rubric``: exit code, stdout, stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        ended = calipers("rubric", *arguments)
        return ended.code, ended.out, ended.err

    return call


def drafts(asked: Asked) -> Answer:
    """Proposes two criteria, of which one is always met, and grades by them."""
    system, user = (str(message["content"]) for message in asked.body["messages"])
    if "You write criteria" in system:
        proposed = [{"text": "States the sum 42.", "points": 4}, {"text": "Is an answer.", "points": 2}]
        return said(json.dumps({"criteria": proposed}))
    met = {"States the sum 42.": "\n42\n" in user, "Is an answer.": True}
    lines = [line.partition(". ") for line in system.splitlines() if line[:1].isdigit()]
    return said(json.dumps({number: {"reason": "r", "met": met[text]} for number, _, text in lines}))


def test_a_draft_is_a_rubric_with_its_figures_and_costs_nothing_twice(run: Run, faulty: FaultyServer) -> None:
    faulty.script(drafts)
    flags = ("draft", "groups.jsonl", "-o", "r.toml", "--judge", "vllm/m", "--base-url", faulty.url, "--first", "2")
    code, out, told = run(*flags)
    assert (code, out) == (0, ""), told
    assert "4 proposals, 1 criteria kept, 1 dropped" in told
    written = Path("r.toml").read_text(encoding="utf-8")
    assert "# it never separates the trajectories of a group" in written
    assert [one.text for one in read_rubric("r.toml").criteria] == ["States the sum 42."]
    calls = len(faulty.posts)
    assert calls == 2 + 2 * 4 * 2
    assert run(*flags, "--force")[0] == 0
    assert Path("r.toml").read_text(encoding="utf-8") == written
    assert len(faulty.posts) == calls
    code, out, _ = run("check", "r.toml")
    assert code == 0
    assert "States the sum 42." in out


def test_a_draft_that_comes_to_nothing_says_why_and_writes_nothing(run: Run, faulty: FaultyServer) -> None:
    faulty.script(said("No."))
    code, _, told = run("draft", "groups.jsonl", "-o", "r.toml", "--judge", "vllm/m", "--base-url", faulty.url)
    assert code == 2
    assert "proposed no criteria that could be read: the reply holds no criteria" in told
    assert told.count("the reply holds") == 1  # once for all groups
    assert not Path("r.toml").exists()


def test_mistakes_are_one_sentence(calipers: Calipers) -> None:
    Path("bad.toml").write_text('[[criteria]]\ntext = "x"\npoints = "two"\n', encoding="utf-8")
    Path("rules.toml").write_text('[[criteria]]\nid = "r"\ntext = "Has no comma."\nrule = { not = { regx = {} } }\n')
    draft, score = (
        ("rubric", "draft", "groups.jsonl", "-o"),
        ("score", "groups.jsonl", "-o", "o", "--protocol", "checklist"),
    )
    cases: list[tuple[tuple[str, ...], str]] = [
        (("rubric", "check", "none.toml"), "none.toml: there is no such file"),
        (("rubric", "check", "nope"), "nope: there is no such file"),
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


def test_a_check_prints_the_criteria_and_what_a_score_can_be(run: Run) -> None:
    text = (
        '[[criteria]]\nid = "a"\ntext = "Cites."\npoints = 4\nveto = true\n[[criteria]]\ntext = "Lies."\npoints = -2\n'
        'rule = { not = { regex = { pattern = "," } } }\n'
    )
    Path("r.toml").write_text(text, encoding="utf-8")
    code, out, _ = run("check", "r.toml")
    assert code == 0
    for words in ("veto", "rule", "2 criteria; scores from -0.5 to 1"):
        assert words in out


RUBRIC = '[[criteria]]\nid = "sum"\ntext = "Gives 42."\npoints = 2\n\n[[criteria]]\ntext = "Apologises."\npoints = -1\n'
SAID = ({"right": True, "close": False, "far": False, "silent": False}, dict.fromkeys(FOUR, False) | {"silent": True})


def test_a_rubric_file_grades_and_replays_and_the_embedded_judge_cannot_check_it(
    folder: Path, calipers: Calipers
) -> None:
    (folder / "groups.jsonl").write_text(json.dumps(group_of(FOUR).to_dict()) + "\n", encoding="utf-8")
    (folder / "r.toml").write_text(RUBRIC, encoding="utf-8")
    rows = [{"text": json.dumps({f"{{{{{name}}}}}": {"met": met} for name, met in said.items()})} for said in SAID]
    (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asking = ("score", "groups.jsonl", "-o", "out.jsonl", "--protocol", "checklist", "--rubric", "r.toml")
    done = calipers(*asking, "--grading", "mode=relative", "--judge", "scripted:said.jsonl")
    assert done.code == 0, done.err
    line = json.loads((folder / "out.jsonl").read_text(encoding="utf-8"))
    assert {one["id"]: one["score"] for one in line["trajectories"]} == {
        "right": 1.0, "close": 0.0, "far": 0.0, "silent": -0.5,
    }  # fmt: skip
    assert calipers("replay", "out.jsonl.ledger.db", "-o", "again.jsonl").code == 0
    assert (folder / "again.jsonl").read_bytes() == (folder / "out.jsonl").read_bytes()
    assert calipers(*asking, "--force").code == 1
    line = json.loads((folder / "out.jsonl").read_text(encoding="utf-8"))
    assert "cannot check criteria" in line["trajectories"][0]["reason"]
