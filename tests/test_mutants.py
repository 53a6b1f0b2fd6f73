"""The mutation tool: which changes it makes, and that its sample is the same wherever nothing changed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from scripts.mutants.operators import sites
from scripts.mutants.sample import Mutant, declared, mutants, sample

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def every() -> list[Mutant]:
    return list(mutants(ROOT))


def changes(source: str) -> set[str]:
    """Each mutant of ``source``, as text."""
    found = set()
    for number in range(len(list(sites(ast.parse(source))))):
        tree = ast.parse(source)
        list(sites(tree))[number].apply()
        found.add(ast.unparse(ast.fix_missing_locations(tree)))
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b < c", {"a = b <= c"}),
        ("a = b and c", {"a = b or c"}),
        ("a = b + c", {"a = b - c"}),
        ("a = not b", {"a = b"}),
        ("a = b.split(c, d)", {"a = b.rsplit(c, d)"}),
        ("a = 3", {"a = 4", "a = 2"}),
        ("a = 0.5", {"a = 1.0", "a = 0.25"}),
        ("a = True", {"a = False"}),
        ("a = b[1:c]", {"a = b[2:c]", "a = b[0:c]", "a = b[:c]", "a = b[1:]"}),
        ("a = min(b)", {"a = max(b)"}),
        ("a = sorted(b)", {"a = sorted(b, reverse=True)"}),
        ("a.b = c", {"pass"}),
        ("if a:\n    b()", {"if not a:\n    b()", "if a:\n    pass"}),
        (
            "def f(a=1):\n    return a",
            {"def f(a=2):\n    return a", "def f(a=0):\n    return a", "def f(a=1):\n    return None"},
        ),
        ("raise E(f'{a + 1}')", {"pass"}),
        ("a: int = 1", {"a: int = 2", "a: int = 0"}),
        ("for a in b:\n    continue", {"for a in b:\n    pass"}),
    ],
)  # fmt: skip
def test_each_mutant_is_one_small_change(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "__all__ = ['b', 'a'][0:1]",
        "a = 'text' + 'more'",
        "import a",
        "def f(a: Literal[1]) -> Literal[2]: ...",
        "@cache(3)\ndef f(): ...",
        "a = f'{b + 1}'",
        "isinstance(a, int | str) or b",
        "a = b.split()",
        "a = b.rsplit(c)",
        "for a in zip(b, c, strict=True):\n    raise AssertionError(a)",
    ],
)
def test_what_no_test_should_hold_is_left_alone(source: str) -> None:
    assert changes(source) <= {"isinstance(a, int | str) and b", "pass"}


def test_a_sample_has_one_mutant_of_a_statement_and_some_of_every_room(every: list[Mutant]) -> None:
    drawn = sample(every, 400, 3)
    assert drawn == sample(every, 400, 3) != sample(every, 400, 4)
    assert len({(one.path, one.place, one.statement) for one in drawn}) == len(drawn)
    assert {one.room for one in drawn} == {one.room for one in every}
    assert 380 <= len(drawn) <= 420


def test_a_change_elsewhere_leaves_a_sample_as_it_is(every: list[Mutant]) -> None:
    drawn = sample(every, 400, 3)
    gone = drawn[0].path
    rest = sample([one for one in every if one.path != gone], 400, 3)
    assert len({one.key for one in drawn if one.path != gone} - {one.key for one in rest}) <= 4


def test_every_mutant_declared_equivalent_is_there_and_has_a_reason(every: list[Mutant]) -> None:
    keys = {one.key for one in every}
    for key, reason in declared(ROOT / "scripts" / "mutants" / "equivalent.toml").items():
        assert key in keys
        assert len(reason) > 20
