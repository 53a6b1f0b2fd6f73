"""Chosen responses follow, or do not follow, instructions as the file says: strictly and loosely."""

from __future__ import annotations

from typing import Any

import pytest

import chosen
from calipers.verifiers.ifeval import instruction


def followed(given: Any) -> Any:
    checked = instruction(given["name"], given["kwargs"], mode=given["mode"])
    return [checked.strict(given["text"]).met, checked.loose(given["text"]).met]


@pytest.mark.parametrize("start", chosen.parts("instructions"))
def test_instructions_are_followed_as_ever(start: int) -> None:
    chosen.check("instructions", start, followed)
