"""What the page says of judges: the calibration's own statement, its figures, and the health of a recorded run."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.errors import InputError
from calipers.interfaces import Backend
from calipers.ledger import Ledger
from calipers.monitoring.monitor import Monitor
from calipers.report.judges import calibration_of
from calipers.report.recorded import run_state
from calipers.report.results import as_group_result, checked_result
from calipers.testing import Flaky, Noise, PositionBias, SimulatedJudge
from groups import FOUR, QUALITY, group_of
from reported import calibration_file, damaged, data_of, judged, report_of


def card(found: dict[str, Any], title: str) -> dict[str, Any]:
    return next(one for one in found["cards"] if one["title"] == title)


def test_a_calibration_is_shown_with_its_answer_recommendation_and_figures(tmp_path: Path):
    path = calibration_file(tmp_path / "c.json")
    written = json.loads(path.read_text(encoding="utf-8"))
    (found,) = data_of(report_of(tmp_path, path))["judge"]
    assert found["answer"] == written["answer"] == "steady agrees better with gold than hasty."
    assert found["recommendation"] == written["recommendation"]
    assert found["judges"] == ["steady", "hasty"], "who agrees best comes first"
    rows = {one["name"]: one for one in card(found, "Fidelity")["rows"]}
    (steady,) = (one for one in written["judges"] if one["judge"] == "steady")
    assert rows["steady"]["value"] == steady["advantage_fidelity"]
    assert [rows["steady"]["low"], rows["steady"]["high"]] == steady["advantage_fidelity_interval"]
    assert len(card(found, "Position bias")["rows"]) == 8
    assert len(card(found, "Cost and fidelity")["rows"]) == len(written["search"]["frontier"])


def test_verdicts_on_criteria_are_shown(tmp_path: Path):
    judge = {"judge": "j", "failure_rate": 0.25, "missing": {"said xsecretx": 10}, "balanced_f1": 0.7,
             "balanced_f1_interval": [0.6, 0.8]}  # fmt: skip
    (tmp_path / "c.json").write_text(json.dumps({"judges": [judge], "among": 40}), encoding="utf-8")
    found = calibration_of(str(tmp_path / "c.json"))
    values = [card(found, title)["rows"][0]["value"] for title in ("Verdicts on criteria", "Without a readable answer")]
    assert values == [0.7, 0.25]
    assert "xsecretx" in json.dumps(found)


def test_a_damaged_calibration_is_shown_or_refused_in_a_sentence(tmp_path: Path):
    path = calibration_file(tmp_path / "c.json", groups=8, calls=2)
    for copy in damaged(json.loads(path.read_text(encoding="utf-8"))):
        path.write_text(json.dumps(copy), encoding="utf-8")
        with suppress(InputError):
            json.dumps(calibration_of(str(path)), allow_nan=False)
    for judges in ("[", "[]}", '[{"noise": ' + "9" * 5000 + "}]}", "[" * 99999):
        path.write_text('{"judges": ' + judges, encoding="utf-8")
        with pytest.raises(InputError, match="calibrate"):
            calibration_of(str(path))


async def test_health_tells_each_judge_of_a_panel_and_says_when_groups_are_too_few(tmp_path: Path):
    judges: list[Backend] = [SimulatedJudge(QUALITY, model="good"), SimulatedJudge(QUALITY, Flaky(empty=0.5), seed=2)]
    groups = [group_of(FOUR, group_id=f"g{n}", question=f"{n}?") for n in range(12)]
    _, ledger = await judged(tmp_path, groups, judges)
    (found,) = data_of(report_of(tmp_path, ledger))["judge"]
    assert found["facts"][0] == ["groups", "12 scored"]
    unreadable = [row["value"] for one in found["cards"] for row in one["rows"] if row["name"] == "unreadable replies"]
    assert unreadable[0] == 0
    assert unreadable[1] > 0.2
    assert found["alarms"] == [], "alarms about replies need 32 groups"
    assert any("parse_failure_rate" in one and "32 groups" in one for one in found["early"])


# --- a run read back from its ledger ----------------------------------------------------------------------------------


def read_back(line: dict[str, Any]) -> calipers.GroupResult:
    return as_group_result(checked_result(line))


GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"{n}?") for n in range(12)]


async def followed(folder: Path, monitor: Monitor, **options: Any) -> list[calipers.GroupResult]:
    """Results of a noisy run that a ledger and a monitor saw."""
    faults = Flaky(malformed=0.05, missing_ids=0.3, truncated=0.05, rate_limited=0.05)
    judge = SimulatedJudge(QUALITY, Noise(0.2), PositionBias(0.3), faults, seed=4)
    async with calipers.Judge(judge, ledger=folder / "l.db", records={"watchers": [monitor]}, **options) as made:
        return [one async for one in made.score_groups(GROUPS, ordered=True)]


@pytest.mark.parametrize(
    "options",
    [{"orders": 2}, {"protocol": "pairwise"}, {"protocol": "pointwise"}, {"defence": {"canaries": "always"}}],
)
async def test_the_metrics_of_a_followed_run_are_the_monitors(tmp_path: Path, options: dict[str, Any]):
    monitor = Monitor(alarms=())
    await followed(tmp_path, monitor, **options)
    found, expected = dict(run_state(str(tmp_path / "l.db")).metrics), monitor.metrics()
    for name in ("judge/latency_p50", "judge/latency_p90", "judge/latency_p99"):
        assert (name in found) == (name in expected)
        found.pop(name, None), expected.pop(name, None)
    assert expected.pop("judge/truncated_rate") is not None, "a ledger does not record it"
    assert found == pytest.approx(expected)
    assert "judge/reward_mean" in found


async def test_a_result_read_back_from_its_line_is_the_result(tmp_path: Path):
    results = await followed(tmp_path, Monitor(alarms=()), orders=2)
    for result in results:
        again = read_back(result.to_dict())
        assert (again.group_id, again.status, again.rewards) == (result.group_id, result.status, result.rewards)
        assert (again.usage, again.attempts, again.unusable) == (result.usage, result.attempts, result.unusable)
        assert [one.reason for one in again.trajectories] == [one.reason for one in result.trajectories]


async def test_the_state_of_a_run_is_read_while_it_grows(tmp_path: Path):
    path = tmp_path / "l.db"
    async with calipers.Judge(SimulatedJudge(QUALITY), ledger=path) as judge:
        counts = []
        async for _ in judge.score_groups(GROUPS, ordered=True, concurrency=1):
            tally = run_state(str(path)).tally
            counts.append(tally.groups.total())
            assert tally.groups["scored"] == tally.groups.total()
            assert tally.trajectories["scored"] == 4 * tally.groups.total()
    assert counts == sorted(counts)
    assert counts[-1] == len(GROUPS)
    async with calipers.Judge(SimulatedJudge(QUALITY), ledger=path) as judge:
        await judge.score_group(GROUPS[0])
    ledger = Ledger(path)
    row = (2, 7, 0, 0, "k", "rate_limited", 1, 0, 0, 0, 0.0, "2026-01-01T00:00:00.000+00:00")
    ledger.insert("INSERT INTO failed_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", row)
    ledger.insert("INSERT INTO asks VALUES (2, 7, 0, 'k', 'first', 'strict', NULL, '{}', 0)", ())
    ledger.close()
    first, latest = run_state(str(path), 1), run_state(str(path))
    assert [one.tally.groups.total() for one in (first, latest)] == [len(GROUPS), 1]
    assert latest.metrics["judge/cache_hit_rate"] == 1.0
    assert latest.failed_calls == {"rate_limited": 1}
    assert latest.waiting == 1, "answered, and its group is not finished"


def test_a_line_of_another_hand_has_an_unknown_reliability():
    line = {"group_id": "g", "status": "scored", "trajectories": []}
    given = {"value": 0.5, "interval": [0.1, 0.9], "basis": "repeats", "freedom": 3}
    assert read_back(line | {"reliability": given}).reliability.to_dict() == given
    for wrong in (None, 0.5, {}, given | {"value": 1.5}, given | {"value": "0.5"}, given | {"basis": "guessed"}):
        assert read_back(line | {"reliability": wrong}).reliability == calipers.types.Reliability()
    assert read_back(line).reliability == calipers.types.Reliability()
    assert read_back(line | {"reliability": given | {"interval": [0.1]}}).reliability.interval is None
