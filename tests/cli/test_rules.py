"""``calipers score --rules --combine``, run as a person runs it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import Calipers, write_rows

Score = Callable[..., tuple[int, list[dict[str, Any]], str]]

VERIF = {
    "checkers": ["[llm] Tone: be kind", "[rule] Punctuation: no exclamation mark"],
    "functions": ["", "def check_following(instruction, response):\n    return '!' not in response"],
}
ANSWERS = {"kind": "Gladly: it is 42.", "curt": "42", "loud": "Gladly! It is 42!", "lost": "<think>6 * 7 is"}
RULES = """\
gates = ["has_answer"]
rules = [{ numeric = { expected = 42 } }, { not = { regex = { pattern = "!", confined = false } } }]
"""
SAID = {"scores": {"kind": 90, "curt": 40, "loud": 80}}


def group(name: str = "g", **keys: Any) -> dict[str, Any]:
    members = [{"id": one, "messages": [{"role": "assistant", "content": text}]} for one, text in ANSWERS.items()]
    return {"group_id": name, "context": [{"role": "user", "content": "6 * 7?"}], "trajectories": members} | keys


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(tmp_path / "groups.jsonl", [group()])
    write_rows(tmp_path / "judge.jsonl", [SAID])
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path


@pytest.fixture
def score(folder: Path, calipers: Calipers) -> Score:
    """Run ``calipers score`` in the folder: exit code, results, stderr."""

    def call(*arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        ended = calipers("score", "groups.jsonl", "-o", "-", "--judge", "scripted:judge.jsonl", *arguments)
        return ended.code, [json.loads(line) for line in ended.out.splitlines()], ended.err

    return call


def rewards(result: dict[str, Any]) -> list[float | None]:
    return [one["reward"] for one in result["trajectories"]]


def test_every_combination_with_a_gate_before_the_judge(score: Score) -> None:
    combinations = {
        "product": [0.9, 0.4, 0.4, 0.0], "average": [0.95, 0.7, 0.65, 0.0], "min": [0.9, 0.4, 0.5, 0.0],
        "verif_code": [1.0, 0.0, 0.5, 0.0], "verif_paper": [1.0, 0.5, 0.5, 0.0],
    }  # fmt: skip
    for combine, expected in combinations.items():
        code, (result,), _ = score("--rules", "rules.toml", "--combine", combine)
        assert code == 0
        assert rewards(result) == pytest.approx(expected)
        assert result["judge_calls"] == 1
        assert "1 of 4 trajectories were not shown to the judge" in result["warnings"]
        assert result["trajectories"][2]["checks"]["rules"][1]["met"] is False


def test_groups_bring_constraints_and_only_soft_ones_are_judged(folder: Path, score: Score) -> None:
    own = {"rules": [{"numeric": {"expected": 42}}]}
    groups = [group("verif", constraints=VERIF), group("rules", constraints=own), group("none")]
    write_rows(folder / "groups.jsonl", groups)
    write_rows(folder / "judge.jsonl", [{"scores": {"kind": 90, "curt": 40, "loud": 80, "lost": 10}}])
    code, results, _ = score("--combine", "product")
    assert code == 1  # an unfinished thought cannot be checked
    assert [result["judge_calls"] for result in results] == [1, 0, 1]
    assert rewards(results[0]) == [0.9, 0.4, 0.0, None]
    assert rewards(results[1]) == [1.0, 1.0, 1.0, None]
    assert results[2]["trajectories"][0]["reward"] == 0.9
    assert "not used: --combine; the group has no rules, so the judge alone scored it" in results[2]["warnings"]
    assert not any("--combine" in warning for result in results[:2] for warning in result["warnings"])


def test_a_dead_judge_leaves_no_number_and_the_gate_its_own(folder: Path, score: Score) -> None:
    write_rows(folder / "judge.jsonl", [{"error": {"kind": "bad_request", "message": "it is down", "fatal": True}}])
    code, (result,), _ = score("--rules", "rules.toml")
    assert (code, rewards(result)) == (1, [None, None, None, 0.0])


def test_broken_constraints_lose_their_group_only(folder: Path, score: Score) -> None:
    bad = group("bad", constraints={"checkers": ["[rule] a"], "functions": [""]})
    write_rows(folder / "groups.jsonl", [bad, group("good")])
    code, results, said = score("--rules", "rules.toml")
    assert (code, [one["group_id"] for one in results]) == (1, ["good"])
    assert "groups.jsonl:1: constraints: functions[0]: a rule's source must be text that defines" in said
    code, results, said = score("--rules", "rules.toml", "--strict")
    assert (code, results) == (2, [])


def test_a_mistake_is_one_sentence_before_any_token(folder: Path, score: Score) -> None:
    for rules, words in (
        ("rules = [{ regx = {} }]", "rules.toml: rules[0]: unknown verifier 'regx'; did you mean regex?"),
        ("combine = 'sum'", "rules.toml: combine='sum'"),
        ("floor = 3", "rules.toml: floor=3"),
        ("rules = [{ exact = { expected = 3 } }]", "rules.toml: rules[0]: expected=3"),  # and no --expected
    ):
        (folder / "rules.toml").write_text(rules)
        code, results, said = score("--rules", "rules.toml")
        assert (code, results) == (2, [])
        assert words in " ".join(said.split())
        assert "Traceback" not in said


def test_with_rules_a_reference_that_nobody_sees_is_told_of(folder: Path, score: Score) -> None:
    truth = {"reward_model": {"ground_truth": "42"}}
    hard = {"checkers": ["[rule] x"], "functions": [VERIF["functions"][1]]}
    keys: dict[str, Any] = {"a": truth, "b": truth | VERIF, "c": truth | hard}
    write_rows(folder / "groups.jsonl", [group(name, **more) for name, more in keys.items()])
    _, results, _ = score("--combine", "average")
    why = [[note for note in one["warnings"] if "the reference in reward_model" in note] for one in results]
    for notes, words in zip(why, ("--reference shows it", "constraints alone", "no judge is asked"), strict=True):
        assert [words in note for note in notes] == [True]
