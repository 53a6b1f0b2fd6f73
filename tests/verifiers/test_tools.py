"""What was done with tools."""

import json
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.types import Trajectory
from calipers.verifiers import ToolCalled, ToolOutcome


def call(name: str, call_id: Any = None, **arguments: Any) -> Any:
    made = {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [made if call_id is None else made | {"id": call_id}]}


def result(text: str, call_id: Any = None) -> Any:
    return {"role": "tool", "content": text} | ({} if call_id is None else {"tool_call_id": call_id})


BOOKED = Trajectory("a", (
    call("search", "1", city="Rome"), result("3 flights", "1"), call("book", "2", flight=7, seat="A1"),
    result("ERROR: full", "2"),
    call("book", "3", flight=8, seat="B1"), result("Booked: 8", "3"),
))  # fmt: skip
UNNAMED = Trajectory("b", (call("search"), result("none"), call("book", flight=1), result("Booked: 1")))
CUT = Trajectory("c", (call("book", "9", flight=7),))


@pytest.mark.parametrize(("verifier", "met"), [
    (ToolCalled("book"), True), (ToolCalled("cancel"), False), (ToolCalled("cancel", times=0), True),
    (ToolCalled("book", times=0), False),
    (ToolCalled("book", {"flight": 8}), True), (ToolCalled("book", {"flight": 9}), False),
    (ToolCalled("book", times=2), True),
    (ToolCalled("book", times=3), False), (ToolCalled("book", {"meal": None}), False),
])  # fmt: skip
def test_calls_are_counted(verifier: Any, met: Any) -> None:
    assert verifier(BOOKED).met is met


@pytest.mark.parametrize(("verifier", "trajectory", "met"), [
    (ToolOutcome("book", "Booked"), BOOKED, True), (ToolOutcome("book", "ERROR"), BOOKED, False),
    (ToolOutcome("pay", "ok"), BOOKED, False), (ToolOutcome("book", "Booked"), UNNAMED, True),
    (ToolOutcome("search", "Booked"), UNNAMED, False), (ToolOutcome("book", "Booked"), CUT, None),
])  # fmt: skip
def test_results_belong_to_their_calls(verifier: Any, trajectory: Any, met: Any) -> None:
    assert verifier(trajectory).met is met


def test_arguments_that_are_no_json_fit_nothing_but_are_a_call() -> None:
    made = {"role": "assistant", "tool_calls": [{"function": {"name": "book", "arguments": "{flight: 7"}}]}
    assert ToolCalled("book")(Trajectory("a", (made,))).met is True
    assert ToolCalled("book", {"flight": 7})(Trajectory("a", (made,))).met is False


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="times=-1 must be 0 or more"):
        ToolCalled("book", times=-1)
