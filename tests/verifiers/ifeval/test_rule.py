"""What rules share: counts as verdicts, texts as patterns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InputError
from calipers.verifiers.ifeval.rule import compile_field, count_verdict


@given(st.integers(0, 9), st.integers(0, 9))
def test_a_count_is_less_than_at_least_or_exactly_what_was_asked(found: int, asked: int) -> None:
    assert count_verdict(found, "x", "less than", asked).met is (found < asked)
    assert count_verdict(found, "x", "at least", asked).met is (found >= asked)
    assert count_verdict(found, "x", "exactly", asked).met is (found == asked)


@pytest.mark.parametrize("pattern", ["(", "a**", "[", "(?P<x", "x{99999999999999}"])
def test_a_pattern_that_cannot_be_compiled_is_named_with_its_field(pattern: str) -> None:
    with pytest.raises(InputError, match=r"^keyword: .*regular expression"):
        compile_field("keyword", pattern)
