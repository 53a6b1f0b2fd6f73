"""What an answer without a grade does to its siblings' advantages, through TRL's and verl's own code
(benchmarks.trainers.ungraded).
"""

from __future__ import annotations

import asyncio
import os
from importlib.util import find_spec
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
ungraded = pytest.importorskip("benchmarks.trainers.ungraded", reason="the benchmarks are not part of this checkout")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]
with_trl = pytest.mark.skipif(find_spec("trl") is None, reason="TRL is not installed (pip install 'calipers[trl]')")
with_verl = pytest.mark.skipif(find_spec("verl") is None, reason="verl is not installed (pip install 'calipers[verl]')")

WORLD = ungraded.World.of(groups=12, size=6, share=0.15, seed=3)
NOBODY: frozenset[int] = frozenset()


def removed() -> list[list[Any]]:
    """The scores of those that are graded, and of nobody else."""
    return [[one for one in row if one is not None] for row in WORLD.without(WORLD.scores(), None)]


def siblings(advantages: list[list[float]]) -> list[float]:
    """Of the graded ones, group by group."""
    flat = [one for row in advantages for one in row]
    return [one for number, one in enumerate(flat) if number not in WORLD.ungraded]


def test_what_calipers_rewards_is_what_the_formula_says_of_the_same_verdicts() -> None:
    assert 4 < len(WORLD.ungraded) < 30
    assert asyncio.run(ungraded.rewards_by_calipers(WORLD, silent=NOBODY)) == [
        pytest.approx(row) for row in WORLD.scores()
    ]
    missing = asyncio.run(ungraded.rewards_by_calipers(WORLD, silent=WORLD.ungraded))
    assert {n for n, one in enumerate(one for row in missing for one in row) if one is None} == WORLD.ungraded


@with_trl
def test_in_trl_siblings_have_the_advantages_they_have_without_the_ungraded() -> None:
    measured = ungraded.trl_by_calipers(WORLD, silent=WORLD.ungraded)
    expected = [one for row in ungraded.trl_advantages(removed()) for one in row]
    assert siblings(measured) == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert all(measured[number // 6][number % 6] == 0.0 for number in WORLD.ungraded)
    told = ungraded.figures(WORLD, ungraded.trl_by_calipers(WORLD, silent=NOBODY), measured, ungraded.trl_advantages)
    assert told.calipers == told.removed >= told.zero
    assert (told.ungraded, told.ungraded_at_zero < -0.3) == (0.0, True)


@with_verl
def test_in_verl_siblings_have_the_advantages_they_have_without_the_ungraded() -> None:
    measured = ungraded.verl_advantages(asyncio.run(ungraded.rewards_by_calipers(WORLD, silent=WORLD.ungraded)))
    expected = [one for row in ungraded.verl_advantages(removed()) for one in row]
    assert siblings(measured) == pytest.approx(expected, rel=1e-6)
    told = ungraded.figures(WORLD, ungraded.verl_advantages(WORLD.scores()), measured, ungraded.verl_advantages)
    assert told.calipers == told.removed >= told.zero
    assert (told.ungraded, told.ungraded_at_zero < -0.3) == (0.0, True)


@with_verl
def test_the_command_prints_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert ungraded.main(["--groups", "10", "--share", "0.1"]) == 0
    printed = capsys.readouterr().out
    assert "answers ungraded, in groups of 8" in printed
    assert "met   verl" in printed


def test_without_an_ungraded_answer_there_is_nothing_to_measure() -> None:
    with pytest.raises(SystemExit, match="no answer is ungraded"):
        ungraded.main(["--groups", "2", "--share", "0"])
