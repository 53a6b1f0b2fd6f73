"""One judge speaks for a group, whoever else was asked."""

from dataclasses import replace

from calipers.aggregators.sole import Sole
from calipers.types import Rating, Scores


def said(slot: int, *values: float | None) -> list[Rating]:
    return [Rating(item, value, slot, slot=slot) for item, value in enumerate(values) if value is not None]


def test_the_judge_that_scored_most_speaks_and_no_other_is_mixed_in():
    assert Sole()([*said(0, 0.9, None), *said(1, 0.1, 0.3)], 2).values == (0.1, 0.3)
    assert Sole()([*said(1, 0.1, 0.3), *said(0, 0.9, 0.8)], 2).values == (0.9, 0.8)
    twice = [*said(1, 0.1, 0.3), *(replace(one, presentation=7) for one in said(1, 0.1, 0.3))]
    assert Sole()([*said(0, 0.9, 0.8), *twice], 2).values == (0.1, 0.3)


def test_where_nobody_spoke_there_is_no_score():
    assert Sole()([], 2) == Scores((None, None), (None, None))
