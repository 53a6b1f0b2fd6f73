"""``calipers rubric``: drafting and checking, as a person runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from calipers import read_rubric
from command_line import Calipers
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


@pytest.mark.parametrize(("arguments", "complaint"), [
    (("check", "none.toml"), "none.toml: there is no such file"),
    (("draft", "groups.jsonl", "-o", "no/r.toml", "--judge", "vllm/m"), "its folder does not exist"),
    (("draft", "none.jsonl", "-o", "r.toml", "--judge", "vllm/m"), "there is no such file"),
    (("draft", "groups.jsonl", "-o", "r.toml", "--judge", "m"), "is not a judge name"),
    (("draft", "groups.jsonl", "-o", "r.toml", "--judge", "embedded"), "proposes no criteria; name a real judge"),
])  # fmt: skip
def test_mistakes_are_one_sentence(run: Run, arguments: tuple[str, ...], complaint: str) -> None:
    code, _, told = run(*arguments)
    assert code == 2
    assert complaint in told


def test_a_check_prints_the_criteria_and_what_a_score_can_be(run: Run) -> None:
    text = (
        '[[criteria]]\nid = "a"\ntext = "Cites."\npoints = 4\nveto = true\n[[criteria]]\ntext = "Lies."\npoints = -2\n'
    )
    Path("r.toml").write_text(text, encoding="utf-8")
    code, out, _ = run("check", "r.toml")
    assert code == 0
    assert "veto" in out
    assert "2 criteria; scores from -0.5 to 1" in out


def test_a_rule_that_cannot_be_run_is_found_before_a_run(run: Run) -> None:
    Path("rules.toml").write_text('[[criteria]]\nid = "r"\ntext = "Has no comma."\nrule = { not = { regx = {} } }\n')
    code, out, err = run("check", "rules.toml")
    assert (code, out) == (2, "")
    assert "rules.toml: criterion 'r': rule: unknown verifier 'regx'; did you mean regex?" in err
    Path("rules.toml").write_text(
        '[[criteria]]\nid = "r"\ntext = "Has no comma."\nrule = { not = { regex = { pattern = "," } } }\n'
    )
    code, out, _ = run("check", "rules.toml")
    assert code == 0
    assert "rule" in out


def test_scores_by_tag_need_verdicts_and_say_what_has_none(run: Run, tmp_path: Path) -> None:
    rubric = {"criteria": [{"id": "a", "text": "Is right.", "points": 2, "tags": ["axis:accuracy"]}]}
    said = [{"id": name, "messages": [{"role": "assistant", "content": "42"}]} for name in "xy"]
    group = {"group_id": "g", "rubric": rubric, "example_tags": ["theme:sums"], "trajectories": said}
    (tmp_path / "bench.jsonl").write_text(json.dumps(group), encoding="utf-8")

    def result(*verdicts: bool | None) -> dict[str, object]:
        members = [
            {"id": name, "criteria": {"a": {"met": met, "reason": ""}}}
            for name, met in zip("xy", verdicts, strict=True)
        ]
        return {"group_id": "g", "trajectories": members}

    (tmp_path / "out.jsonl").write_text(json.dumps(result(True, False)), encoding="utf-8")
    code, out, _ = run("score", "bench.jsonl", "out.jsonl", "--json")
    assert (code, {name: one["mean"] for name, one in json.loads(out).items()}) == (
        0, {"overall": 0.5, "axis:accuracy": 0.5, "theme:sums": 0.5},
    )  # fmt: skip
    (tmp_path / "out.jsonl").write_text(json.dumps(result(True, None)), encoding="utf-8")
    code, out, told = run("score", "bench.jsonl", "out.jsonl")
    assert code == 1
    assert "overall" in out
    assert "1 response with a criterion that has no verdict" in told
    (tmp_path / "out.jsonl").write_text(json.dumps({"group_id": "h"}), encoding="utf-8")
    code, _, told = run("score", "bench.jsonl", "out.jsonl")
    assert (code, "out.jsonl:1: group 'h' is not in GROUPS" in told) == (2, True)
    (tmp_path / "out.jsonl").write_text(json.dumps({"group_id": "g", "trajectories": []}), encoding="utf-8")
    code, _, told = run("score", "bench.jsonl", "out.jsonl")
    assert (code, "holds no verdicts on criteria" in told) == (2, True)
