"""Units as words."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.expressions.units import parse_unit


@pytest.mark.parametrize(("one", "other", "many"), [
    ("m", "cm", 100), ("km", "meters", 1000), ("square meters", "cm^2", 10_000), ("cubic feet", "cubic inches", 1728),
    ("km/h", "kilometers per hour", 1), ("hours", "min", 60),
    ("mph", "miles per hour", 1), ("dollars", "cents", 100), ("liter", "ml", 1000), ("ml", "cm^3", 1),
    ("kg", "g", 1000), ("sq in", "square inches", 1), ("meters squared", "m^2", 1),
    ("kg meters squared", "kg m^2", 1), ("m/s squared", "m/s^2", 1), ("squared", "", 1), ("in cubed", "cubic in", 1),
    ("lbs", "ounces", 16), ("years", "months", 12), ("m/s^2", "cm per s^2", 100), ("cm³".replace("³", "^3"), "cc", 1),
])  # fmt: skip
def test_units_of_one_kind_are_told_in_one_another(one: str, other: str, many: int) -> None:
    first, second = parse_unit(one), parse_unit(other)
    assert first.parts == second.parts
    assert first.scale / second.scale == Fraction(many)
    assert first.known


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cm", "cm^2"),
        ("m", "kg"),
        ("apples", "oranges"),
        ("hours", "miles per hour"),
        ("units", "square units"),
        ("dollars", "euros"),
    ],
)
def test_units_of_different_kinds_are_not(one: str, other: str) -> None:
    assert parse_unit(one).parts != parse_unit(other).parts


def test_words_for_numbers_multiply_and_plain_words_are_units_of_their_own() -> None:
    assert parse_unit("million dollars").count == 10**6
    assert parse_unit("dozen").count == 12
    assert parse_unit("students").parts == parse_unit("student").parts
    assert not parse_unit("students").known
    assert parse_unit("radians").parts != parse_unit("degrees").parts


@pytest.mark.parametrize("word", ["squared", "cubed"])
def test_powers_of_powers_add_up_so_that_no_text_takes_long(word: str) -> None:
    many = parse_unit("m" + f" {word}" * 500).parts["length"]
    assert many == 1 + 500 * (1 if word == "squared" else 2)


@given(st.text(max_size=300))
def test_any_text_is_a_unit_or_none(text: str) -> None:
    assert parse_unit(text).scale > 0
