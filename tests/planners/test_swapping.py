"""The other order of a pair, where it is worth asking."""

from dataclasses import dataclass

from calipers.planners.first_asks import Pairs
from calipers.planners.resolving import Swapping
from calipers.types import Ask, Comparison, Failure, Reading
from planning import state_of


@dataclass(frozen=True)
class Leaning:
    """Asks again about every "first", never about a "second"."""

    def swap_share(self, said: str) -> float:
        return {"first": 1.0, "second": 0.0, "tie": 1.0}[said]


def verdict(ask: Ask, margin: float) -> Reading:
    return Reading((Comparison(ask.order[0], ask.order[1], margin, ask.number, ask.slot),), "strict")


def test_a_verdict_the_judge_leans_to_is_asked_the_other_way_round_once():
    plan = Swapping(Pairs(), {0: Leaning()})
    pairs = plan.next_asks(state_of(3))
    said = [(ask, verdict(ask, margin)) for ask, margin in zip(pairs, (0.5, -0.5, 0.0), strict=True)]
    swaps = plan.next_asks(state_of(3, answered=said))
    assert [ask.order for ask in swaps] == [pairs[0].order[::-1], pairs[2].order[::-1]]
    assert [(ask.cause, ask.number) for ask in swaps] == [("swap", 3), ("swap", 4)]
    both = [*said, *((ask, verdict(ask, 0.1)) for ask in swaps)]
    assert not plan.next_asks(state_of(3, answered=both))


def test_a_judge_nothing_is_known_of_is_asked_both_orders():
    plan = Swapping(Pairs(), {})
    pairs = plan.next_asks(state_of(3))
    assert len(plan.next_asks(state_of(3, answered=[(ask, verdict(ask, -1.0)) for ask in pairs]))) == 3


def test_a_swap_that_failed_is_not_asked_again():
    plan = Swapping(Pairs(), {})
    (pair,) = plan.next_asks(state_of(2))
    (swap,) = plan.next_asks(state_of(2, answered=[(pair, verdict(pair, 1.0))]))
    assert not plan.next_asks(state_of(2, answered=[(pair, verdict(pair, 1.0)), (swap, Failure("server", "down"))]))
