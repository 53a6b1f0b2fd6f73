"""How sure a decision endpoint was, from what stands in its answer's place for reasoning."""

from __future__ import annotations

import json

import pytest

from calipers.protocols.reading import spreads_from_probabilities
from calipers.types import Completion

KEYS = ("BC", "DF")


def told(reasoning: object) -> dict[str, float]:
    text = reasoning if isinstance(reasoning, str) else json.dumps(reasoning)
    return dict(spreads_from_probabilities(Completion("{}", reasoning=text), KEYS))


def test_the_spread_is_that_of_levels_from_nought_to_one() -> None:
    assert told({"BC": [0.5, 0.0, 0.5], "DF": [0.0, 1.0]}) == {"BC": 0.5, "DF": 0.0}


def test_a_refused_key_has_none() -> None:
    assert told({"BC": None, "DF": [1.0, 0.0]}) == {"DF": 0.0}


@pytest.mark.parametrize(
    "reasoning",
    ["", "Let me think.", '{"BC": ', {"DF": [1.0, 0.0], "BC": [1.0, 0.0]}, {"BC": [1.0, 0.0]}, {"BC": 0.7, "DF": 0.3},
     {"BC": [1.0, True], "DF": None}, {"BC": [2.0, -1.0], "DF": None}, {"BC": [1.0], "DF": None},
     {"BC": [0.2, 0.2], "DF": None}],
)  # fmt: skip
def test_a_judges_thoughts_are_none(reasoning: object) -> None:
    assert told(reasoning) == {}
