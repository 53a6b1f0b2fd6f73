"""The parts of judging at their limits: what answers cost, why there is no score, what is refused, what is shown."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from dataclasses import replace
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.judging.criteria import criteria_without_verdict, explain_verdicts, verdicts_by_criterion
from calipers.judging.describe import describe_result
from calipers.judging.results import Spent, why_unscored
from calipers.judging.toolbox import bounded
from calipers.rubric import as_rubric
from calipers.testing import SimulatedJudge
from calipers.types import (
    Answered,
    Ask,
    Comparison,
    FailedCalls,
    Failure,
    GroupResult,
    Rating,
    Reading,
    Scores,
    TrajectoryResult,
    Usage,
    Verdict,
)
from groups import QUALITY, group_of
from planning import view_of

DEFAULTS = {"prior": 2.0, "reasks": 2, "tolerance": 0.015, "budget": 8, "reward_range": (0.0, 1.0)}
DEFAULTS |= dict.fromkeys(("quorum", "judges", "orders", "samples", "sharing"), 1)


@pytest.mark.parametrize("room", ["aggregators", "judging", "planners", "replies", "rewards"])
def test_values_are_frozen_and_have_no_other_attributes(room: str) -> None:
    """They are shared by threads, and keys of caches; only what collects something may change.

    Unless given, a number is that of ``DEFAULTS``, else 0, and a flag is false.
    """
    package = importlib.import_module(f"calipers.{room}")
    names = [one.name for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    modules = [importlib.import_module(name) for name in names]
    kinds = {kind for one in modules for kind in vars(one).values() if isinstance(kind, type)}
    own: list[Any] = [
        one for one in kinds if dataclasses.is_dataclass(one) and one.__module__.startswith(f"calipers.{room}")
    ]
    assert own
    assert {kind.__name__ for kind in own if not kind.__dataclass_params__.frozen} <= {"_Found", "JudgeInstance"}
    assert [kind.__name__ for kind in own if "__slots__" not in vars(kind)] == []
    given = {(kind, one.name): one.default for kind in own for one in dataclasses.fields(kind)}
    numbers = {key: value for key, value in given.items() if isinstance(value, int | float) or key[1] == "reward_range"}
    assert numbers == {key: DEFAULTS.get(key[1], 0) for key in numbers}


def answered(number: int, result: Reading | Failure | None = None, **attributes: Any) -> Answered:
    ask = Ask(number, (0, 1), (0, 1), parent=attributes.pop("parent", None), slot=attributes.pop("slot", 0))
    return Answered(ask, result or Reading((Rating(0, 0.5, number),), "strict"), **attributes)


def test_what_answers_cost_counts_each_question_once_and_each_attempt() -> None:
    one, other = Usage(100, 10, cost_usd=1.0), Usage(50, 5, cost_usd=0.5)
    failed = FailedCalls(3, 1, 2, Usage(7, 1, cost_usd=0.25))
    turn = answered(10_000_000, usage=other, question="t")
    cases = [
        ([], (0, 0, 0, 0, Usage.total([]))),
        ([answered(0, usage=one)], (1, 1, 0, 0, one)),
        ([answered(0, usage=one, question="q"), answered(1, usage=one, question="q")], (1, 1, 0, 0, one)),
        ([answered(0, usage=one), answered(1, usage=other)], (2, 2, 0, 0, Usage(150, 15, cost_usd=1.5))),
        ([answered(0, usage=one, failed=failed)], (1, 4, 1, 2, Usage(107, 11, cost_usd=1.25))),
        ([answered(0, Failure("timeout", "x"), failed=failed)], (0, 3, 1, 2, failed.usage)),
        ([answered(0, usage=one, question="q", turns=(turn,))], (2, 2, 0, 0, Usage(150, 15, cost_usd=1.5))),
    ]  # fmt: skip
    for given, (calls, attempts, unusable, unmetered, usage) in cases:
        assert Spent.on(given) == Spent(calls, attempts, unusable, unmetered, usage), given


def test_a_candidate_without_a_reward_has_the_status_and_reason_of_the_last_answer_about_it() -> None:
    none, two = Scores((None, None), (None, None)), Scores((0.5, 0.5), (None, None))
    gap = Reading((Rating(1, 0.5, 0),), "partial", missing={0: "left out"})
    worse = Reading((), "rejected", "in doubt", missing={0: "doubtful", 1: "doubtful"})
    timeout, refused = Failure("timeout", "too slow"), Failure("refused", "will not")
    compared = Reading((Comparison(0, 1, 1.0, 0),), "strict")
    cases: list[tuple[list[Answered], int, Scores, tuple[str, str]]] = [
        ([], 1, none, ("failed", "not asked")), ([answered(0, gap)], 1, none, ("abstained", "left out")),
        ([answered(0, timeout)], 1, none, ("failed", "too slow")),
        ([answered(0, refused)], 1, none, ("abstained", "will not")),
        ([answered(0, gap), answered(1, worse, parent=0)], 1, none, ("abstained", "doubtful")),
        ([answered(0, gap), answered(1, timeout, parent=0)], 1, none, ("failed", "too slow")),
        ([answered(0, worse), answered(1, gap)], 1, none, ("abstained", "left out")),
        ([answered(0)], 1, none, ("abstained", "one scale")), ([answered(0)], 1, two, ("abstained", "no number")),
        ([answered(0), answered(1, timeout, slot=1)], 2, none, ("abstained", "1 judge scored it, and the quorum")),
        ([answered(0), answered(1, slot=1), answered(2, gap, slot=2)], 3, none, ("abstained", "2 judges")),
        ([answered(0), answered(1, gap, slot=1)], 1, none, ("abstained", "left out")),
        ([answered(0, gap, omitted={0: "too long"})], 1, none, ("abstained", "too long")),
    ]  # fmt: skip
    found = [why_unscored(0, given, quorum, scores, (None, None)) for given, quorum, scores, _ in cases]
    assert [
        (one, expected)
        for one, (*_, expected) in zip(found, cases, strict=True)
        if one[0] != expected[0] or expected[1] not in one[1]
    ] == []
    late = [answered(0, compared), answered(1, timeout)]
    linked, alone = (why_unscored(0, late, 1, none, (None, reward))[1] for reward in (0.5, None))
    assert (linked.startswith("no chain"), linked.endswith(alone), alone) == (True, True, "too slow")


async def test_a_group_with_nothing_to_compare_gets_the_middle_of_its_range() -> None:
    cases: list[tuple[dict[str, Any], float]] = [
        ({}, 0.5), ({"reward": {"range": (-1.0, 1.0)}}, 0.0), ({"reward": {"range": (0.0, 5.0)}}, 2.5),
        ({"reward": "weighted"}, 0.0),
    ]  # fmt: skip
    for options, middle in cases:
        judge = calipers.Judge(SimulatedJudge({"a": 0.9, "b": 0.9}), **options)
        result = await judge.score_group(group_of({"a": "42", "b": "42"}))
        assert (result.rewards, result.judge_calls, result.status) == ([middle, middle], 0, "scored"), options
        assert [note for note in result.warnings if "2 trajectories are identical" in note]
        alone = await judge.score_group(group_of({"a": "42"}))
        assert (alone.rewards, [note for note in alone.warnings if "one trajectory" in note] != []) == ([middle], True)
        assert alone.trajectories[0].score is None
    absolute = calipers.Judge(SimulatedJudge({"a": 0.1}), question={"absolute": True})
    assert (await absolute.score_group(group_of({"a": "42"}))).rewards == [0.1]


def test_a_result_is_described_best_first_with_errors_and_reasons() -> None:
    members = (
        TrajectoryResult("a", "abstained", reason="doubtful"), TrajectoryResult("b", "scored", 0.25, 0.25, 0.125),
        TrajectoryResult("c", "scored", 1.0, 1.0, explanation="word " * 30), TrajectoryResult("d", "scored", 0.0, 0.0),
    )  # fmt: skip
    text = describe_result(GroupResult("g", "partial", members, warnings=("look",)), width=60)
    lines = text.splitlines()
    assert [line[:12].split() for line in lines if line[4:5] == "."] == [
        ["1.", "1.00"],
        ["2.", "0.25"],
        ["3.", "0.00"],
        ["-.", "-"],
    ]
    assert [line for line in lines if "±" in line] == ["   2.  0.25 ± 0.12  b"]
    assert max(map(len, lines)) <= 60
    assert [lines[0], lines[-2].strip(), lines[-1]] == ["group g: partial", "abstained: doubtful", "  note: look"]
    assert text.endswith("look\n")
    assert max(map(len, describe_result(GroupResult("g", "scored", members[2:3]), width=500).splitlines())) <= 110


def test_votes_decide_by_majority_and_an_unknown_one_never_replaces_another() -> None:
    """Of each grading (``presentation``) the last known verdict counts; a tie of the known ones is no verdict."""
    cases: list[tuple[list[tuple[bool | None, int]], bool | None, list[bool | None] | None]] = [
        ([(True, 0)], True, None), ([(None, 0)], None, None), ([(None, 0), (False, 0)], False, None),
        ([(True, 0), (None, 0)], True, None), ([(True, 0), (False, 1)], None, [True, False]),
        ([(True, 0), (None, 1)], True, [True, None]), ([(False, 0), (False, 1)], False, [False, False]),
        ([(True, 0), (False, 1), (True, 2)], True, [True, False, True]), ([(None, 0), (None, 1)], None, [None, None]),
        ([(False, 0), (True, 1), (False, 2)], False, [False, True, False]),
    ]  # fmt: skip
    view = replace(view_of(1), rubrics=(as_rubric(["a", "b"]),))
    (name, other) = [one.id for one in view.rubrics[0].criteria]  # type: ignore[union-attr]  # it has a rubric
    for said, met, votes in cases:
        verdicts = tuple(Verdict(one, f"r{call}", 0, name, call) for one, call in said)
        ask = Ask(0, (0,), (0,), criteria=(name,))
        (found,) = verdicts_by_criterion(view, [Answered(ask, Reading(verdicts, "strict"))]).values()
        assert (found[name]["met"], found[name].get("votes"), found[other]["met"]) == (met, votes, None), said
        open_, all_unknown = criteria_without_verdict(found), all(one is None for one in votes or [met])
        assert (name in open_, other in open_) == (all_unknown, True), said
    failed = Answered(Ask(0, (0,), (0,), criteria=(name,)), Failure("timeout", "too slow"))
    (found,) = verdicts_by_criterion(view, [failed]).values()
    assert [found[one]["reason"] for one in (name, other)] == ["too slow", "the judge was not asked about it"]
    assert verdicts_by_criterion(view, []) == {}
    told: dict[str, dict[str, Any]] = {
        "a": {"met": True, "reason": "so"},
        "b": {"met": False, "reason": ""},
        "c": {"met": None, "reason": "?"},
    }
    assert explain_verdicts(told) == "a: met (so)\nb: not met\nc: no verdict (?)"


def test_options_of_a_panel_that_contradict_one_another_are_refused_and_their_neighbours_are_not() -> None:
    one, two = SimulatedJudge(QUALITY), [SimulatedJudge(QUALITY, model=name) for name in "ab"]
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (two, {"quorum": 3}, "quorum=3"), (two, {"panel": "cycle", "quorum": 2}, "orders=2"),
        (two, {"panel": "fallback", "quorum": 2}, "quorum=2"), (two, {"panel": {"weights": [1]}}, "weights="),
        (two, {"panel": {"weights": [0, 0]}}, "weights="), (two, {"panel": {"weights": [2, -1]}}, "weights="),
        (two, {"panel": {"mode": "fallback", "weights": [1, 1]}}, "weights="),
        (one, {"protocol": "pairwise", "question": {"absolute": True}}, "absolute="),
        (one, {"protocol": "checklist", "defence": {"canaries": "always"}}, "canaries="),
    ]  # fmt: skip
    for given, options, words in refused:
        with pytest.raises(ConfigError, match=words):
            calipers.Judge(given, **options)
    allowed: list[tuple[Any, dict[str, Any]]] = [
        (two, {"quorum": 2}), (two, {"panel": "cycle", "quorum": 2, "orders": 2}),
        (two, {"panel": {"weights": [0, 1], "error_correlation": 0.2}}), (one, {"question": {"absolute": True}}),
        (one, {"protocol": "pairwise", "defence": {"canaries": "always"}}),
    ]  # fmt: skip
    for given, options in allowed:
        calipers.Judge(given, **options)


def test_a_result_of_a_tool_fits_into_the_bytes_that_are_left() -> None:
    text = "é" * 100  # 200 bytes
    assert [bounded(text, most) == text for most in (200, 199)] == [True, False]
    for most in range(1, 200):
        cut = bounded(text, most)
        assert cut == "error: cut" or (len(cut.encode()) <= most and "cut: 200 bytes" in cut and str(most) in cut)
    note = len("\n... cut: 200 bytes are more than the 99 that are left")
    assert [most for most in range(1, 200) if bounded(text, most) == "error: cut"] == [*range(1, note + 1)]
