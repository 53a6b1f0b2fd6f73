"""Three values put together: what can be told from the parts is told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import answered
from calipers.errors import ConfigError
from calipers.types import Trajectory, Verdict
from calipers.verifiers.combine import all_of, any_of, not_

mets = st.sampled_from([True, False, None])


def says(met: Any, reason: str = "") -> Any:
    def verifier(trajectory: Trajectory) -> Verdict:
        return Verdict(met, reason)

    return verifier


@given(st.lists(mets, min_size=1))
def test_all_of_and_any_of_are_kleenes(values: Any) -> None:
    parts = [says(met) for met in values]
    assert all_of(*parts)(answered("")).met is (False if False in values else None if None in values else True)
    assert any_of(*parts)(answered("")).met is (True if True in values else None if None in values else False)


@given(st.lists(mets, min_size=1))
def test_not_of_all_is_any_of_nots(values: Any) -> None:
    parts = [says(met) for met in values]
    assert not_(all_of(*parts))(answered("")).met is any_of(*map(not_, parts))(answered("")).met


def test_the_reason_is_that_of_the_part_that_decides() -> None:
    found = all_of(says(True, "fine"), says(None, "unclear"), says(False, "wrong"))(answered(""))
    assert found == Verdict(False, "wrong")
    assert all_of(says(None, "first"), says(None, "second"))(answered("")).reason == "first"
    assert not_(says(False, "no comma"))(answered("")) == Verdict(True, "no comma")
    assert not_(says(True, "2 commas"))(answered("")) == Verdict(False, "met, and it must not be: 2 commas")
    assert not_(says(None, "crashed"))(answered("")) == Verdict(None, "crashed")


def test_no_part_runs_after_the_one_that_decides() -> None:
    def never(trajectory: Trajectory) -> Verdict:
        raise AssertionError("asked in vain")

    assert all_of(says(False), never)(answered("")).met is False
    assert any_of(says(True), never)(answered("")).met is True


def test_nothing_is_no_condition() -> None:
    with pytest.raises(ConfigError, match="at least one verifier"):
        all_of()
    with pytest.raises(ConfigError, match="'regex' is not a verifier"):
        any_of("regex")  # type: ignore[arg-type]  # what is tested
