"""Rules given as source text: True, False, or no verdict and why."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from answers import answered
from calipers.errors import InputError
from calipers.verifiers import RuleFunction, check_rules, read_constraints

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines code on Linux only")
STRICT: dict[str, tuple[bool | None, str]] = {
    "return ',' not in response": (True, ""), "return 'z' in response": (False, "not followed"),
    "return None": (None, "returned 'None'"), "return 1": (None, "returned '1' (int)"), "return ''": (None, "(str)"),
    "return len(response) > 10 and": (None, "SyntaxError"), "while True: pass": (None, "CPU time"),
    "import os; return False": (None, "imports 'os'"), "yield False": (None, "none of it has run"),
}  # fmt: skip
TRUTHY: dict[str, tuple[bool | None, str]] = {
    "return re.search('b', response)": (True, ""), "return re.search('z', response)": (False, "not followed"),
    "return 7": (True, ""), "return 0": (False, "not followed"), "return []": (False, "not followed"),
    "return 'no'": (True, ""), "return None": (False, "not followed"), "return object()": (True, ""),
    "return Bad()": (None, "ValueError"), "return 1 / 0": (None, "ZeroDivisionError"), "sys.exit()": (None, "sys.exit"),
    "yield False": (None, "none of it has run"),
}  # fmt: skip
HEAD = "import re, sys\nclass Bad:\n    def __bool__(self): raise ValueError('more than one')\n"


@pytest.mark.parametrize(("truthy", "expected"), [(False, STRICT), (True, TRUTHY)])
def test_a_rule_has_a_verdict_or_a_reason(truthy: bool, expected: dict[str, tuple[Any, str]]) -> None:  # noqa: FBT001
    for body, (met, reason) in expected.items():
        source = f"{HEAD}def check_following(instruction, response):\n    {body}"
        found = RuleFunction(source, name="no comma", truthy=truthy)(answered("<think>a, b</think>a b"))
        assert (found.met, found.criterion) == (met, "no comma"), found
        assert reason in found.reason
        assert met is True or found.reason.startswith("no comma: ")


def test_no_answer_is_no_verdict_and_a_promise_is_none_however_true() -> None:
    assert RuleFunction("def check_following(r): return True")(answered("<think>hm")).met is None
    found = RuleFunction("async def check_following(response):\n    return False", truthy=True)(answered("a"))
    assert found.met is None
    assert found.reason.startswith("check_following: ")
    assert "none of it has run" in found.reason


@pytest.mark.parametrize("source", ["", "def other(r): return True", None])
def test_a_source_without_the_function_is_a_mistake(source: str) -> None:
    with pytest.raises(InputError, match="check_following"):
        RuleFunction(source)


def test_many_are_checked_at_once_in_order() -> None:
    rules = [RuleFunction(f"def check_following(r): return len(r) == {length}") for length in range(4)]
    found = check_rules([(rule, text) for rule in rules for text in ("", "ab")])
    assert [verdict.met for verdict in found] == [True, False, False, False, False, True, False, False]


def test_settings_with_defaults_are_not_taken_for_the_response_and_the_instruction_is_passed_on() -> None:
    for takes in ("response, least=1", "text, *, least=1", "instruction, response, least=1", "instruction, response=''",
                  "response", "*both"):  # fmt: skip
        name = "both[-1]" if "*both" in takes else "text" if "text" in takes else "response"
        source = f"def check_following({takes}):\n    return {name} == 'the answer'"
        assert RuleFunction(source, instruction="the question")(answered("the answer")).met is True, takes
    both = RuleFunction("def check_following(asked, response): return response in asked", instruction="say hello")
    assert both(answered("hello")).met is True


def recorded(name: str) -> Any:
    data = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    if not data.is_dir():
        pytest.skip(f"no recorded data at {data}; CALIPERS_DATA says where it is")
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    return pq.read_table(data / "ruscarl" / name).to_pylist()


@pytest.mark.data
def test_the_rules_of_verinstruct_give_in_the_sandbox_what_they_give_outside() -> None:
    """They were looked at: each imports nothing but re. Here they are run in this process once, to compare."""
    checked, expected = [], []
    for row in recorded("verinstruct_verif_val.parquet"):
        ground_truth = row["reward_model"]["ground_truth"]
        constraints = read_constraints(ground_truth)
        tags = [checker.split("]")[0] for checker in json.loads(ground_truth)["checkers"]]
        assert (len(constraints.rules), len(constraints.soft)) == (tags.count("[rule"), tags.count("[llm"))
        for rule in constraints.rules:
            assert isinstance(rule, RuleFunction)
            namespace: dict[str, Any] = {}
            exec(rule.source, namespace)  # noqa: S102 - see above
            for text in (row["prompt"][0]["content"], "Yes.", "1. One\n2. Two\n\n* three?"):
                checked.append((rule, text))
                expected.append(namespace["check_following"]("", text))
    assert len(checked) == 3 * 76
    assert [verdict.met for verdict in check_rules(checked)] == expected
    assert {True, False} <= set(expected)
