"""Chosen texts are found to be attacks, and of which kind and certainty, as the file says."""

from __future__ import annotations

from typing import Any

import pytest

import chosen
from calipers.guard.injection import find_attacks


def found(given: Any) -> Any:
    """The attacks in one message, [role, text], or in several of which the first are the task."""
    match given:
        case {"messages": messages, "start": start}:
            hits = find_attacks(messages, start=start)
        case role, text:
            hits = find_attacks([{"role": role, "content": text}])
    return [[*hit.to_dict().values()] for hit in hits]


@pytest.mark.parametrize("start", chosen.parts("attacks"))
def test_texts_are_searched_as_ever(start: int) -> None:
    chosen.check("attacks", start, found)
