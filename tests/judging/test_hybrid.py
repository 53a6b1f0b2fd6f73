"""Rules and a judge as one reward: by name, gates before tokens, and no failure that becomes a number."""

import asyncio
import itertools
import json
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Hybrid, Judge
from calipers.backends.providers.scripted import Scripted
from calipers.errors import ConfigError
from calipers.judging.hybrid import combined_reward, rules_score
from calipers.ledger import Ledger
from calipers.testing import Noise, SimulatedJudge
from calipers.types import UNKNOWN_RELIABILITY, Trajectory, TrajectoryGroup, Verdict
from calipers.verifiers import Constraints
from calipers.verifiers.constraints import RuleFile
from grading import Grader
from groups import FOUR, QUALITY, group_of

shares = st.floats(0, 1)


def contains(word: str) -> Any:
    def verifier(trajectory: Trajectory) -> Verdict:
        text = trajectory.messages[-1]["content"]
        return Verdict(None, "unreadable") if text == "?" else Verdict(word in text, f"{word} is looked for")

    return verifier


class Counting(Scripted):
    """A scripted judge that remembers who was shown to it, by question."""

    def __init__(self, rows: Any) -> None:
        super().__init__(rows)
        self.asked: list[tuple[str, ...]] = []
        self.questions: list[str] = []

    async def complete(self, request: Any) -> Any:
        self.asked.append(request.view.ids)
        self.questions.append(str(request.messages))
        return await super().complete(request)


ANSWERS = {"ab": "a b", "a": "a", "b": "b", "none": "c"}
SCORES = [{"scores": {"ab": 100, "a": 80, "b": 60, "none": 40}}]
RULES = [contains("a"), contains("b")]


async def test_parts_combine_by_name() -> None:
    cases: list[tuple[Any, list[float]]] = [
        ({"combine": "product"}, [1.0, 0.4, 0.3, 0.0]),
        ({"combine": "average"}, [1.0, 0.65, 0.55, 0.2]),
        ({"combine": "min"}, [1.0, 0.5, 0.5, 0.0]),
        ({"combine": "product", "code": "all"}, [1.0, 0.0, 0.0, 0.0]),
        ({"combine": "min", "code": "all", "threshold": 0.5}, [1.0, 0.0, 0.0, 0.0]),
        ({"combine": "product", "threshold": 0.7}, [1.0, 0.5, 0.0, 0.0]),
        ({"combine": "verif_code"}, [1.0, 0.5, 0.5, 0.0]),
        ({"combine": "verif_paper"}, [1.0, 0.5, 0.5, 0.0]),
        ({"combine": "verif_code", "threshold": 0.9}, [1.0, 0.0, 0.0, 0.0]),
        ({"combine": "verif_paper", "threshold": 0.9}, [1.0, 0.0, 0.0, 0.0]),
    ]
    for settings, rewards in cases:
        result = await Hybrid(Judge(Counting(SCORES)), checks=RULES, **settings).score_group(group_of(ANSWERS))
        assert result.status == "scored"
        assert result.rewards == pytest.approx(rewards), settings


@given(shares, shares, st.floats(0, 1), st.sampled_from(["product", "average", "min"]))
def test_a_reward_stays_in_range_and_rises_with_its_parts(rules: float, soft: float, noise: float, how: Any) -> None:
    combine = partial(combined_reward, how, None)
    reward, error = combine(rules, soft, noise)
    assert reward is not None
    assert 0 <= reward <= 1
    assert reward <= (combine(rules, 1.0)[0] or 0)
    assert error == {"product": rules * noise, "average": noise / 2, "min": None}[how]
    assert combined_reward(how, 0.5, rules, soft, noise)[1] is None
    assert combine(None, soft) == (soft, None)
    assert combine(rules, None) == (rules, None)
    assert combine(None, None) == (None, None)


async def test_a_hybrids_reliability_is_that_of_its_own_scores() -> None:
    group, answers = group_of(ANSWERS), [*SCORES, {"scores": {"ab": 90, "a": 84, "b": 66, "none": 30}}]
    judged = await Judge(Scripted(answers), orders=2).score_group(group)
    hybrid = await Hybrid(Judge(Scripted(answers), orders=2), checks=RULES, combine="average").score_group(group)
    assert judged.reliability.value is not None
    assert hybrid.reliability.value is not None
    assert hybrid.reliability.value > judged.reliability.value, "rules separate these answers, without an error"
    assert hybrid.reliability.basis == "repeats"
    one = await Hybrid(Judge(Scripted(SCORES)), checks=RULES, combine="average").score_group(group)
    assert one.reliability.value is None


def test_rules_come_to_a_number_only_where_they_can() -> None:
    for mets in itertools.product([True, False, None], repeat=3):
        verdicts = [Verdict(met, str(number)) for number, met in enumerate(mets)]
        share, every = rules_score(verdicts, "mean"), rules_score(verdicts, "all")
        if None in mets:
            assert share == verdicts[mets.index(None)]
            assert every == (0.0 if False in mets else verdicts[mets.index(None)])
        else:
            assert (share, every) == (mets.count(True) / 3, float(all(mets)))
    assert rules_score([], "mean") is None


async def test_a_rule_that_cannot_tell_abstains_and_is_not_paid_for() -> None:
    judge = Counting(SCORES)
    group = group_of(ANSWERS | {"broken": "?"})
    result = await Hybrid(Judge(judge), checks=RULES).score_group(group)
    assert result.status == "partial"
    broken = result.trajectories[-1]
    assert (broken.status, broken.reward, broken.score, broken.reason) == ("abstained", None, None, "unreadable")
    assert judge.asked == [("ab", "a", "b", "none")]
    assert result.warnings[-1] == "1 of 5 trajectories were not shown to the judge"


async def test_a_judge_that_fails_is_no_zero() -> None:
    dead = Scripted([{"error": {"kind": "timeout", "message": "nobody there"}}])
    for combine in ("product", "average", "min", "verif_paper", "verif_code"):
        result = await Hybrid(Judge(dead), checks=RULES, combine=combine).score_group(group_of(ANSWERS))
        assert result.rewards == [None] * 4
        assert {one.status for one in result.trajectories} == {"failed"}
        assert result.trajectories[0].reason == "nobody there"
    forgetful = Scripted([{"scores": {"ab": 100, "a": 80, "b": 60}}])
    result = await Hybrid(Judge(forgetful), checks=RULES).score_group(group_of(ANSWERS))
    assert result.rewards == pytest.approx([1.0, 0.4, 0.3, None])
    assert result.trajectories[3].status == "abstained"


async def test_who_fails_a_gate_gets_the_floor_and_is_not_paid_for() -> None:
    judge = Counting(SCORES)
    hybrid = Hybrid(Judge(judge), gates=[contains("b")], floor=0.1)
    result = await hybrid.score_group(group_of(ANSWERS | {"broken": "?"}))
    assert judge.asked == [("ab", "b")]
    assert result.rewards == [1.0, 0.1, 0.6, 0.1, None]
    assert result.trajectories[1].explanation == "b is looked for"
    assert result.trajectories[4].status == "abstained"
    assert result.judge_calls == 1


async def test_the_judge_is_asked_only_where_something_is_soft_and_about_that() -> None:
    judge = Counting(SCORES)

    def checks(group: TrajectoryGroup) -> Constraints:
        return Constraints((contains("a"),), ("Tone: be\nkind",) if group.group_id == "soft" else ())

    hybrid = Hybrid(Judge(judge), checks=checks)
    hard = await hybrid.score_group(group_of(ANSWERS, group_id="hard"))
    assert (hard.rewards, hard.judge_calls, judge.asked) == ([1.0, 1.0, 0.0, 0.0], 0, [])
    soft = await hybrid.score_group(group_of(ANSWERS, group_id="soft"))
    assert soft.rewards == [1.0, 0.8, 0.0, 0.0]
    assert "- Tone: be kind" in judge.questions[0]
    by_group = Hybrid(Judge(Counting(SCORES)), checks=lambda group: [contains(group.group_id)])
    always = Hybrid(Judge(Counting(SCORES)), checks=[contains("a")])
    group = group_of(ANSWERS, group_id="a")
    assert await by_group.score_group(group) == await always.score_group(group)


async def test_a_check_of_the_callers_own_may_break() -> None:
    def broken(trajectory: Trajectory) -> Verdict:
        raise ZeroDivisionError("oh")

    def confused(trajectory: Trajectory) -> Any:
        return True

    for check, reason in ((broken, "the check raised ZeroDivisionError: oh"), (confused, "the check returned bool")):
        for place in ("checks", "gates"):
            result = await Hybrid(Judge(Scripted(SCORES)), **{place: [check]}).score_group(group_of(ANSWERS))  # type: ignore[arg-type]
            assert result.rewards == [None] * 4
            assert reason in (result.trajectories[0].reason or "")


async def test_parts_and_foreign_keys_are_in_the_result() -> None:
    first = Trajectory("ab", ({"role": "assistant", "content": "a b"},), metadata={"step": 1}, extra={"mine": 2})
    group = TrajectoryGroup("g", (first, *group_of({"a": "a"}).trajectories), extra={"data_source": "x"})
    result = await Hybrid(Judge(Scripted(SCORES)), checks=RULES).score_group(group)
    row = result.to_dict()
    assert row["data_source"] == "x"
    assert (row["trajectories"][0]["mine"], row["trajectories"][0]["metadata"]) == (2, {"step": 1})
    assert row["trajectories"][1]["checks"] == {
        "rules": [{"met": True, "reason": "a is looked for"}, {"met": False, "reason": "b is looked for"}],
        "gate": None, "code": 0.5, "judge": 0.8,
    }  # fmt: skip
    assert json.loads(json.dumps(row)) == row


def test_settings_that_cannot_work_are_refused() -> None:
    cases: list[tuple[Any, str]] = [
        ({"combine": "sum"}, "combine='sum'"), ({"code": "some"}, "code='some'"), ({"threshold": 2}, "threshold=2"),
        ({"floor": "a"}, "floor='a'"),
        ({"floor": None}, "floor=None"), ({"combine": "verif_code", "code": "all"}, "leave code= out"),
        ({"checks": ["regex"]}, "'regex' is not a verifier"), ({"gates": 7}, "gates=7: it must be a list"),
        ({"gates": [7]}, "7 is not a verifier"), ({"checks": 7}, "checks=7: it must be a list"),
        ({"judge": Judge("embedded", reward={"range": (-1, 1)})}, "reward range"),
        ({"judge": Judge("embedded", reward="weighted")}, "with reward='weighted' the judge's rewards may be negative"),
    ]  # fmt: skip
    for settings, complaint in cases:
        with pytest.raises(ConfigError, match=complaint):
            Hybrid(**({"judge": "embedded"} | settings))


async def test_a_function_that_returns_no_list_of_verifiers_is_named() -> None:
    returned = iter([contains("a"), None, "regex", ["regex"], {"rules": []}])

    def one_check(group: TrajectoryGroup) -> Any:
        return next(returned)

    hybrid = Hybrid(Judge(Scripted(SCORES)), checks=one_check)
    for _ in range(5):
        with pytest.raises(ConfigError, match=r"one_check returned .* for group 'g': .*verifier"):
            await hybrid.score_group(group_of(ANSWERS))
    assert next(returned, None) is None


async def test_a_groups_own_constraints_are_used_by_a_function_or_named_as_unused() -> None:
    group = replace(group_of(ANSWERS), extra={"constraints": {"rules": [{"exact": {"expected": "a"}}]}})
    warning = "not used: the group's 'constraints'; calipers.Hybrid with a function as checks="
    always = await Hybrid(Judge(Scripted(SCORES)), checks=RULES).score_group(group)
    assert [warning in note for note in always.warnings] == [True]
    read = await Hybrid(Judge(Scripted(SCORES)), checks=lambda given: RuleFile().constraints_of(given)).score_group(
        group
    )
    assert (read.rewards, read.warnings) == ([0.0, 1.0, 0.0, 0.0], ())


async def test_errors_of_scores_are_not_stated_for_rewards_that_are_something_else() -> None:
    cases: list[tuple[dict[str, Any], bool]] = [
        ({}, True), ({"reward": "rank"}, False), ({"protocol": "pairwise"}, False),
    ]  # fmt: skip
    group = group_of(FOUR)
    for options, known in cases:
        judge = Judge(SimulatedJudge(QUALITY, Noise(0.1)), orders=2, **options)
        alone = await judge.score_group(group)
        result = await Hybrid(judge, checks=[]).score_group(group)
        assert result.rewards == alone.rewards
        assert all(one.stderr for one in alone.trajectories)
        stderrs = [one.stderr if known else None for one in alone.trajectories]
        assert [one.stderr for one in result.trajectories] == stderrs
        assert result.reliability == (alone.reliability if known else UNKNOWN_RELIABILITY)


async def test_a_judge_of_criteria_checks_the_soft_constraints_one_by_one() -> None:
    truth = {"ab": ["c1", "c2"], "a": ["c1"], "b": [], "none": ["c1", "c2"]}
    grader = Grader(truth)
    judge = Judge(grader, protocol="checklist", question={"grading": {"normaliser": "all_or_nothing"}})
    hybrid = Hybrid(judge, checks=lambda _: Constraints(tuple(RULES), ("Is kind.", "Is short.")), combine="verif_code")
    result = await hybrid.score_group(group_of(ANSWERS))
    assert result.rewards == [1.0, 0.0, 0.0, 0.0]
    assert "Is kind." in str(grader.asked[0].messages)
    assert result.to_dict()["trajectories"][1]["criteria"]["c2"]["met"] is False
    gated = Hybrid(judge, checks=lambda _: Constraints((), ("Is kind.",)), gates=[contains("a b")])
    alone = await gated.score_group(group_of(ANSWERS))
    assert alone.rewards == [1.0, 0.0, 0.0, 0.0]


def test_groups_that_begin_in_several_threads_at_once_are_one_run(tmp_path: Path) -> None:
    judge = Judge(SimulatedJudge(QUALITY), ledger=tmp_path / "runs.db")
    by, together = Hybrid(judge, checks=[]), threading.Barrier(8)

    def score(number: int) -> None:
        together.wait(10)
        asyncio.run(by.score_group(group_of(FOUR, group_id=str(number), question=f"{number}?")))

    threads = [threading.Thread(target=score, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    judge.close()
    ledger = Ledger(tmp_path / "runs.db", create=False)
    assert ledger.rows("SELECT count(DISTINCT run), count(*) FROM groups") == [(1, 8)]
