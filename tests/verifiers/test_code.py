"""Programs and functions that the policy wrote."""

import sys
from typing import Any

import pytest

from answers import answered
from calipers.errors import ConfigError, InputError
from calipers.verifiers import Call, CodeTests, Run, Sandbox, cases_from_asserts
from calipers.verifiers.sandbox import Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines code on Linux only")
ADD = (Call("add", (1, 2), 3), Call("add", ([1], [2]), [1, 2]))


@pytest.fixture(scope="module")
def sandbox() -> Any:
    with Sandbox(limits=Limits(cpu_seconds=1, wall_seconds=30.0)) as made:
        yield made


def block(code: str) -> Any:
    return answered(f"Here it is:\n```python\n{code}\n```\nDone.")


FUNCTIONS: dict[str, bool | None] = {
    "def add(a, b): return a + b": True, "def add(a, b): return 3": False, "def add(a, b): return 1 / 0": False,
    "def sub(a, b): return a - b": False, "def add(a, b)": False, "def add(a, b):\n while True: pass": False,
    "def add(a, b): return [0] * 10 ** 12": False, "import sys\nsys.exit()": False,
    "import sys\nsys.modules['os']._exit(0)": False, "def add(a, b): return True if a == 1 else [1, 2]": False,
    "class Yes:\n def __eq__(self, other): return True\ndef add(a, b): return Yes()": False,
    "class Int(int):\n def __eq__(self, other): return True\ndef add(a, b): return Int(3)": False,
    "import numpy\ndef add(a, b): return a + b": None, "open('/expected')\ndef add(a, b): return a + b": None,
    # What a program prints or sends is taken for its values, and those are compared with what it never saw.
    "import sys\nos = sys.modules['os']\nos.write(0, b'{\"values\": [true]}')\nos._exit(0)": False,
    "import sys\ndef add(a, b):\n f = sys._getframe(1)\n return [str(f.f_locals), '3']": False,
}  # fmt: skip


def test_functions_are_called_and_compared_outside(sandbox: Sandbox) -> None:
    check = CodeTests(ADD, sandbox=sandbox)
    found = {code: check(block(code)).met for code in FUNCTIONS}
    assert {code: met for code, met in found.items() if met is not FUNCTIONS[code]} == {}


def test_programs_read_and_print(sandbox: Sandbox) -> None:
    check = CodeTests((Run("3\n4\n", "7\n"), Run("1\n1\n", "2")), sandbox=sandbox)
    assert check(block("print(int(input()) + int(input()), '')\nprint()")).met is True
    assert check(block("print(7)")).met is False
    assert check(block("import sys\nprint(sum(map(int, sys.stdin)))")).met is True
    assert check(answered("print(sum(int(input()) for _ in range(2)))")).met is True
    assert check(answered("<think>hm")).met is None


def test_the_time_by_the_clock_may_be_the_machines_doing() -> None:
    with Sandbox(limits=Limits(wall_seconds=0.5)) as hasty:
        found = CodeTests((Run("", ""),), sandbox=hasty)(block("import time\ntime.sleep(60)"))
    assert found.met is None


EQUAL: list[tuple[str, Any]] = [
    ("0.1 + 0.2", 0.3), ("3", 3.0), ("(1, [2])", [1, (2,)]), ("{1, 2}", {2, 1}),
    ("{'a': 0.30000000000000004}", {"a": 0.3}), ("float('nan')", float("nan")), ("float('inf')", float("inf")),
    ("collections.Counter('aab')", {"a": 2, "b": 1}), ("collections.namedtuple('P', 'x y')(1, 2)", (1, 2)),
    ("enum.IntEnum('E', 'one').one", 1), ("Liar('a')", "a"), ("b'ab'", b"ab"), ("1 + 2.0000000000001j", 1 + 2j),
    ("10 ** 400", 10**400),
]  # fmt: skip
DIFFERENT: list[tuple[str, Any]] = [
    ("1", True), ("None", False), ("float('nan')", 0.0), ("1e400", -float("inf")), ("'1'", 1), ("Liar('b')", "a"),
    ("b'ab'", "ab"), ("1 - 2j", 1 + 2j), ("type('Same', (), {'__eq__': lambda *_: True})()", 1),
    # an integer that no float can hold
    ("10 ** 400", 0.5), ("10 ** 400", float("inf")), ("10 ** 400", 1j), ("[10 ** 400]", [0.5]),
]  # fmt: skip


def test_what_is_equal_as_plain_data_passes_whatever_its_class_and_nothing_else(sandbox: Sandbox) -> None:
    liar = "import collections, enum\nclass Liar(str):\n def __eq__(self, other): return True\ndef f(): return "

    def met(source: str, expected: Any) -> bool | None:
        return CodeTests((Call("f", (), expected),), sandbox=sandbox)(block(liar + source)).met

    assert [one for one in EQUAL if met(*one) is not True] == []
    assert [one for one in DIFFERENT if met(*one) is not False] == []


def test_a_case_that_no_code_could_meet_is_a_mistake_in_the_settings() -> None:
    one = (Call("f", (), 1),)
    mistakes: list[tuple[Any, dict[str, Any], str]] = [
        ((*one, Call("f", (), object())), {}, "case 2 contains a value of type object"),
        ((Call("f", (range(3),), 1),), {}, "case 1 contains a value of type range"),
        ((), {}, "at least one case"),
        *((one, {"tolerance": tolerance}, "tolerance") for tolerance in (-1.0, float("nan"), float("inf"))),
    ]
    for cases, options, words in mistakes:
        with pytest.raises(ConfigError, match=words):
            CodeTests(cases, **options)


def test_asserts_become_cases_and_others_would_run_beside_the_code() -> None:
    text = "assert add(1, 2) == 3\nassert add(('a',), [2]) == {'x': -1}\n"
    assert cases_from_asserts(text) == (Call("add", (1, 2), 3), Call("add", (("a",), [2]), {"x": -1}))
    refused = {
        "assert add(1, 2) == 3\nassert abs(add(1, 2) - 3) < 1e-9": "line 2: write", "x = 1": "line 1: write",
        "assert add(x) == 3": "line 1: write", "assert (": "not Python", "assert add(1) == add(1)": "line 1: write",
    }  # fmt: skip
    for text, complaint in refused.items():
        with pytest.raises(InputError, match=complaint):
            cases_from_asserts(text)
