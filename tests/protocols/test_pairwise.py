"""Pairs: what an answer says of them, and what a group of them comes to."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.errors import ConfigError
from calipers.planners.first_asks import Pairs
from calipers.protocols.scores import Pairwise
from calipers.render import render
from calipers.rewards.win_rate import WinRate
from calipers.testing import Flaky, Noise, PositionBias, SimulatedJudge
from calipers.types import Ask, Comparison, Completion, JudgeRequest, Scores
from groups import FOUR, QUALITY, group_of
from planning import state_of

VIEW = render(group_of(FOUR))
PAIR = Ask(5, (2, 0), (2, 0))


def heard(*values: int) -> tuple[object, ...]:
    request = Pairwise().frame(PAIR, VIEW)
    reply = json.dumps({"scores": dict(zip(request.keys, values, strict=False))})
    return Pairwise().read(request, Completion(reply)).judgments


def test_the_margin_is_the_difference_and_speaks_for_who_was_shown_first():
    assert heard(80, 30) == (Comparison(2, 0, 0.5, 5),)
    assert heard(30, 80) == (Comparison(2, 0, -0.5, 5),)
    assert heard(55, 55) == (Comparison(2, 0, 0.0, 5),)


def test_one_score_of_two_is_no_comparison():
    request = Pairwise().frame(PAIR, VIEW)
    reading = Pairwise().read(request, Completion(json.dumps({"scores": {request.keys[0]: 80}})))
    assert reading.judgments == ()
    assert set(reading.missing) == {0, 2}
    assert reading.complaint


def test_only_the_two_are_shown():
    question = str(Pairwise().frame(PAIR, VIEW).messages[1]["content"])
    bodies = [str(candidate.body[0]) for candidate in VIEW.candidates]
    assert [body in question for body in bodies] == [True, False, True, False]


@given(st.integers(2, 9), st.integers(1, 2), st.integers(1, 2))
def test_every_pair_is_asked_about_as_often_as_planned(candidates: int, orders: int, samples: int):
    asks = Pairs(orders, samples).next_asks(state_of(candidates))
    pairs = Counter(frozenset(ask.order) for ask in asks)
    assert set(pairs.values()) == {orders * samples}
    assert len(pairs) == candidates * (candidates - 1) // 2
    if orders == 2:
        shown = Counter(ask.order for ask in asks)
        assert all(shown[order] == shown[order[::-1]] for order in shown)


@given(st.integers(2, 9))
def test_in_one_order_everyone_stands_first_about_half_of_the_time(candidates: int):
    first = Counter(ask.order[0] for ask in Pairs().next_asks(state_of(candidates)))
    assert all(abs(2 * first[item] - (candidates - 1)) <= 1 for item in range(candidates))


def test_a_pair_has_no_third_order():
    with pytest.raises(ConfigError, match="two orders"):
        calipers.Judge(SimulatedJudge(QUALITY), protocol="pairwise", orders=3)


async def test_rewards_are_win_rates_in_the_right_order():
    judge = calipers.Judge(SimulatedJudge(QUALITY), protocol="pairwise")
    result = await judge.score_group(group_of(FOUR))
    assert result.judge_calls == 6
    values = [value for value in result.rewards if value is not None]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == 4
    assert sum(values) / 4 == pytest.approx(0.5)
    assert all(one.stderr for one in result.trajectories)


async def test_both_orders_cancel_a_judges_love_for_the_first():
    """A bias as large as the differences reverses pairs one way, and cancels when each is asked both ways."""
    quality = {"right": 0.56, "close": 0.52, "far": 0.48, "silent": 0.44}
    judge = SimulatedJudge(quality, PositionBias(0.3))
    both = await calipers.Judge(judge, protocol="pairwise", orders=2).score_group(group_of(FOUR))
    values = [value for value in both.rewards if value is not None]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == 4


async def test_a_failed_comparison_is_missing_and_not_a_tie():
    judge = SimulatedJudge(QUALITY, Noise(0.02), Flaky(server_error=0.5), seed=4)
    result = await calipers.Judge(judge, protocol="pairwise").score_group(group_of(FOUR))
    assert 0 < result.judge_calls < 6
    scored = {one.id: one.reward for one in result.trajectories if one.reward is not None}
    assert list(scored) == sorted(scored, key=lambda name: -(scored[name] or 0.0))


def test_win_rates_are_the_models_expectation_and_none_stays_none():
    rewards = WinRate()(Scores((1.0, None, -1.0), (None,) * 3), VIEW)
    assert rewards[1] is None
    assert rewards[0] == pytest.approx(1 / (1 + 2.718281828 ** (-2)), abs=1e-6)
    assert rewards[0] + rewards[2] == pytest.approx(1.0)  # type: ignore[operator]  # both are numbers
    assert WinRate((-1, 1))(Scores((3.0, 3.0), (None, None)), VIEW) == (0.0, 0.0)


def test_absolute_needs_no_second():
    with pytest.raises(ConfigError, match="needs two"):
        calipers.Judge(SimulatedJudge(QUALITY), protocol="pairwise", question={"absolute": True})


class OnlyWithin:
    """A judge that has something to say only about pairs within ``sets``, which no other pair links."""

    endpoint = "simulated"

    def __init__(self, *sets: set[int], model: str = "only-within") -> None:
        self.inner = SimulatedJudge(QUALITY | dict.fromkeys("abcdef", 0.5))
        self.sets, self.model = sets, model

    async def complete(self, request: JudgeRequest) -> Completion:
        known = any(own.issuperset(request.ask.order) for own in self.sets)
        return await self.inner.complete(request) if known else Completion("I cannot tell.")


async def test_members_that_no_chain_of_comparisons_links_have_no_score_and_say_so():
    result = await calipers.Judge(OnlyWithin({0, 1}, {2, 3}), protocol="pairwise").score_group(group_of(FOUR))
    scored = [one for one in result.trajectories if one.status == "scored"]
    apart = [one for one in result.trajectories if one.status != "scored"]
    assert (result.status, len(scored), len(apart)) == ("partial", 2, 2)
    assert all(one.reward is None and "no chain of comparisons" in (one.reason or "") for one in apart)


async def test_where_no_member_has_a_score_none_is_said_to_lack_a_link_to_those_that_have_one():
    """Each judge links other members, so none has the scores of both judges that the quorum asks for."""
    panel = [OnlyWithin({0, 1, 2}, {3, 4, 5}, model="one"), OnlyWithin({0, 1}, {3, 4, 5}, model="two")]
    group = group_of({name: f"It is {name}." for name in "abcdef"})
    result = await calipers.Judge(panel, protocol="pairwise", quorum=2).score_group(group)
    assert result.rewards == [None] * 6
    assert not any("no chain of comparisons" in str(one.reason) for one in result.trajectories)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_of_one_order_further_presentations_are_the_swapped_ones_and_then_new_samples_in_turn(samples: int):
    """No presentation is asked twice, however many a rule asks for."""
    plan, state = Pairs(1, samples), state_of(3)
    plain = [ask.order for ask in plan.presentation(state, 0)]
    asked = []
    for index in range(4 * samples):
        asks = plan.presentation(state, index)
        swapped = [ask.order for ask in asks] != plain
        assert [ask.order[::-1] if swapped else ask.order for ask in asks] == plain
        asked.append((swapped, asks[0].sample))
    first = [(False, sample) for sample in range(samples)]
    further = [(swapped, sample) for sample in range(samples, 2 * samples) for swapped in (False, True)]
    assert asked == [*first, *((True, sample) for _, sample in first), *further]
