"""Budgets, rates and several URLs on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Calipers, mismatches
from groups import FOUR, group_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three groups, in the working directory."""
    groups = [group_of(FOUR, group_id=f"g{n}", question=f"What is 17 + 25, once more ({n})?") for n in range(3)]
    lines = (json.dumps(group.to_dict()) + "\n" for group in groups)
    (tmp_path / "groups.jsonl").write_text("".join(lines), encoding="utf-8")
    return tmp_path


Score = Callable[..., tuple[int, str]]


@pytest.fixture
def score(folder: Path, calipers: Calipers) -> Score:
    """Run ``calipers score`` with these flags: exit code, and what it printed."""

    def run(*flags: str) -> tuple[int, str]:
        ended = calipers("score", "groups.jsonl", "-o", "out.jsonl", *flags)
        return ended.code, ended.err

    return run


def _statuses(folder: Path) -> list[str]:
    lines = (folder / "out.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["status"] for line in lines]


def test_a_run_ends_where_its_budget_does_and_goes_on_with_another(folder: Path, score: Score) -> None:
    assert score("--budget", "calls=2")[0] == 1
    assert _statuses(folder) == ["scored", "scored", "failed"]
    assert score("--budget", "calls=1")[0] == 0
    assert _statuses(folder) == ["scored"] * 3


def test_every_bound_can_be_set_in_the_file(folder: Path, score: Score) -> None:
    (folder / "calipers.toml").write_text(
        '[score]\nconcurrency = 4\nbudget = ["calls=3", "usd=0.1"]\nprice = "0.25,2"\nrequests-per-minute = 6e6\n'
    )
    code, said = score()
    assert code == 0, said
    assert _statuses(folder) == ["scored"] * 3


def test_bounds_that_cannot_work_are_one_sentence_and_exit_code_2(folder: Path, calipers: Calipers) -> None:
    cases = [
        (["--budget", "5"], "write usd=5"),
        (["--budget", "eur=5"], "'eur' is no kind of budget: write usd=5 (US dollars), tokens=2e6 or calls=1000"),
        (["--budget", "usd=five"], "write usd= and a number, as in usd=5"),
        (["--budget", "euro=5"], "no kind of budget"),
        (["--budget", "usd=5"], "--price"),
        (["--budget", "tokens=50"], "does not cover one call"),
        (["--price", "cheap"], "per million tokens"),
        (["--price", "1"], "per million tokens"),
        (["--concurrency", "0"], "--concurrency"),
        (["--requests-per-minute", "0"], "--requests-per-minute"),
        (["--judge", "vllm/m", "--base-url", "http://a/v1", "--base-url", "http://a/v1"], "more than once"),
    ]  # fmt: skip
    ask = ("score", "groups.jsonl", "-o", "out.jsonl")
    assert mismatches(calipers, [((*ask, *flags), complaint) for flags, complaint in cases]) == []
