"""A watched run in verl 0.9, through verl's own agent loop; what happens is in ``verl_watch.py``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from own_process import reported

_HERE = Path(__file__).resolve().parent
_NEEDED = ("verl", "ray", "transfer_queue", "uvicorn", "fastapi", "cachetools", "pandas")
_missing = [name for name in _NEEDED if find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)} (pip install 'calipers[verl]')"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return reported(_HERE / "verl_watch.py", tmp_path_factory.mktemp("verl"), seconds=540)


def test_rewards_are_those_of_the_judge_and_never_of_the_audit(report: dict[str, Any]) -> None:
    rewards = {label: reward for label, reward in report["went on"]["rewards"].items() if label.startswith("plain")}
    assert rewards == {f"plain: worth {number}": pytest.approx(number / 100) for number in (10, 30, 60, 90)}


def test_every_group_has_a_row_with_the_step_and_what_was_due(report: dict[str, Any]) -> None:
    rows = report["went on"]["rows"]
    assert [(row["step"], row["split"], row["group"]) for row in rows] == [
        (0, "train", "a-plain"),
        (0, "train", "a-ties"),
        (1, "train", "b-plain"),
        (2, "held_out", "c-ties"),
    ]
    assert [row["truth"] for row in rows] == [0.5, 0.75, None, 0.75]
    audited = [row["audit_fidelity"] for row in rows]
    assert audited.count(-1) == 2  # one of each step that is due: the audit judge thinks the opposite
    assert audited[2] is None
    assert [row["truth_fidelity"] for row in rows if row["truth"] is not None] == [1, 1, 1]
    assert report["went on"]["files"] == 1  # there is one worker


def test_a_broken_rule_ends_the_run_before_its_next_step(report: dict[str, Any]) -> None:
    told = report["ended"]["second"]
    assert told.startswith("StoppedRunError: stop rule fidelity is broken at step 0: rewards agree with the audit")
    (broken,) = report["ended"]["broken"]
    assert (broken["rule"], broken["step"]) == ("fidelity", 0)


def test_kl_comes_from_verls_own_log(report: dict[str, Any]) -> None:
    assert report["logged"]["log"] == [
        {"step": 0, "kl": 0.25, "length": 9.0},
        {"step": 1, "kl": 0.75, "entropy": 2.0},
    ]
    assert "stop rule kl is broken at step 1" in report["logged"]["told"]
    assert "0.75, above kl=0.5" in report["logged"]["told"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("no folder", "ConfigError: +watch.folder='': it must be an absolute path"),
        ("relative", "ConfigError: +watch.folder='mine': it must be an absolute path"),
        ("typo", "ConfigError: +watch: unknown key 'evry'. Did you mean every?"),
        ("rule", "ConfigError: +watch.rules: gap=-1: it must be a number from 0"),
        ("truth", "ConfigError: +watch.truth=no.such.module:it: it cannot be imported"),
        ("key", "ConfigError: +watch.audit.api_key: verl stores its configuration"),
        ("no judge", "ConfigError: +watch.audit: it names no judge"),
    ],
)
def test_a_watch_that_cannot_work_is_refused_before_any_rollout(
    report: dict[str, Any], wrong: str, sentence: str
) -> None:
    assert sentence in report["refused"][wrong]
