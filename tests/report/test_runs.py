"""Runs on the page: what a monitor and a watch saw, in at most a few hundred points, with what is not known."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.report.runs.panels import LEDGER_PANELS
from calipers.report.runs.shapes import MOST_POINTS, Curves, Panel, panels_of
from calipers.report.runs.watched import blocks_of, watched_run
from calipers.testing import Flaky, SimulatedJudge
from calipers.types import TrajectoryGroup
from groups import FOUR, QUALITY, group_of
from reported import data_of, judged, member, report_of, result_of, write_lines
from reported_runs import step_groups, trained


def panel(run: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
    """The lines of a run's panel by label."""
    (found,) = [one for one in run["panels"] if one["key"] == key]
    return {line["label"]: line for line in found["lines"]}


async def test_the_metrics_of_a_ledger_are_those_that_a_monitor_saw(tmp_path: Path):
    run = await trained(tmp_path, steps=10)
    (shown,) = data_of(report_of(tmp_path, run.ledger))["run"]
    assert (shown["x"], shown["at"], shown["from"]) == ("step", list(range(10)), list(range(10)))
    labels = {(one.key, label): name for one in LEDGER_PANELS for name, label in one.lines.items()}
    compared = 0
    for one in shown["panels"]:
        for line in one["lines"]:
            name = f"judge/{labels[one['key'], line['label']]}"
            for mean, metrics in zip(line["mean"], run.metrics, strict=True):
                if name in metrics:
                    assert mean == pytest.approx(metrics[name], rel=1e-4), name
                    compared += 1
    assert compared > 40
    names = [one["name"] for one in shown["alarms"]]
    assert [one["text"] for one in shown["alarms"]] == run.alarms
    assert "position_correlation" in names


async def test_rewards_have_intervals_over_groups_and_stand_beside_gold(tmp_path: Path):
    run = await trained(tmp_path, steps=3)
    (shown,) = data_of(report_of(tmp_path, run.ledger))["run"]
    lines = panel(shown, "reward")
    assert lines["gold"]["mean"] == [0.25] * 3
    assert all(0 < half < 0.3 for half in lines["judge's reward"]["half"])
    assert panel(shown, "fidelity")["with gold"]["mean"][0] > 0.3
    assert panel(shown, "length")["characters"]["mean"][2] - panel(shown, "length")["characters"]["mean"][1] == 5.0
    assert ["judged groups", "12"] in shown["facts"]
    assert {"title": "Responses without a reward", "label": "abstained", "value": 0.0} in shown["steady"]


async def test_a_late_group_counts_for_the_step_it_came_in_and_evaluation_has_curves_of_its_own(tmp_path: Path):
    def split(groups: list[TrajectoryGroup], **extra: Any) -> list[TrajectoryGroup]:
        return [replace(one, group_id=f"{one.group_id} {extra}", extra={**one.extra, **extra}) for one in groups]

    first, second, third = ([*step_groups(step)] for step in range(3))
    groups = [*first, *second[:3], third[0], second[3], *third[1:], *split(third, step=3, split="held_out")]
    _, ledger = await judged(tmp_path, groups, [SimulatedJudge(lambda _, name: 0.8 if name.endswith("-1") else 0.3)])
    (shown,) = data_of(report_of(tmp_path, ledger))["run"]
    assert (shown["x"], shown["at"]) == ("step", [0, 1, 2, 3])
    assert [one["groups"] for one in shown["examples"]] == [4, 3, 5, 4]
    assert [one is None for one in panel(shown, "reward")["gold"]["mean"]] == [False, False, False, True]
    assert {"title": "Held-out prompts", "label": "gold", "value": 0.25} in shown["steady"]


@pytest.mark.parametrize("steps", [[0, 1] * 6, [9, 0, 1, 2], [0, 1, 2, 50, 3]])
async def test_numbers_that_fall_again_and_again_are_no_steps(tmp_path: Path, steps: list[int]):
    groups = [replace(group_of(FOUR, group_id=str(at)), extra={"step": step}) for at, step in enumerate(steps)]
    _, ledger = await judged(tmp_path, groups, [SimulatedJudge(QUALITY)])
    assert data_of(report_of(tmp_path, ledger))["run"][0]["x"] == "group"


async def test_groups_without_steps_are_counted_and_it_is_said(tmp_path: Path):
    run = await trained(tmp_path, steps=5, with_step=False)
    (shown,) = data_of(report_of(tmp_path, run.ledger))["run"]
    assert (shown["x"], shown["at"], shown["from"]) == ("group", [8, 16, 20], [1, 9, 17])
    assert [one["rows"] for one in shown["examples"]] == [[0, 7], [8, 15], [16, 19]]
    assert any("no training step" in one for one in shown["lacks"])
    assert any("some 7 groups" in one for one in shown["lacks"])


async def test_a_long_run_has_few_points_that_stand_for_all_groups(tmp_path: Path):
    groups = [one for step in range(2 * MOST_POINTS + 10) for one in step_groups(step, prompts=1)]
    _, ledger = await judged(tmp_path, groups, [SimulatedJudge(lambda _, name: float(name.endswith("-1")))])
    (shown,) = data_of(report_of(tmp_path, ledger))["run"]
    assert MOST_POINTS / 2 < len(shown["at"]) <= MOST_POINTS
    assert sum(one["groups"] for one in shown["examples"]) == len(groups)
    assert (shown["from"][0], shown["at"][0], shown["at"][-1]) == (0, 2, len(groups) - 1)
    assert any("stands for some 3 groups" in one for one in shown["lacks"])


async def test_failures_are_counted_by_kind_and_are_no_rewards(tmp_path: Path):
    groups = [group_of(FOUR, group_id=f"g{number}") for number in range(12)]
    _, ledger = await judged(tmp_path, groups, [SimulatedJudge(QUALITY, Flaky(0.5), seed=3)], question={"reasks": 0})
    (shown,) = data_of(report_of(tmp_path, ledger))["run"]
    counts = {one["title"]: dict(one["rows"]) for one in shown["counts"]}
    assert counts["answers, by how they were read"].get("strict", 0) < 12
    assert sum(counts["responses"].values()) == 48
    rewards = panel(shown, "reward")["judge's reward"]["mean"]
    known = [
        one["reward"] for one in json.loads((tmp_path / "scored.jsonl").read_text().splitlines()[0])["trajectories"]
    ]
    assert all(one is None or 0 < one <= 1 for one in (*rewards, *known))


async def test_what_an_earlier_run_paid_for_is_said(tmp_path: Path):
    for _ in range(2):
        await judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(QUALITY)])
    (shown,) = data_of(report_of(tmp_path, tmp_path / "runs.db"))["run"]
    assert ["run", "2 of 2"] in shown["facts"]
    assert ["answers", "1, 1 from earlier runs"] in shown["facts"]


async def test_a_run_whose_groups_are_not_shown_says_so(tmp_path: Path):
    groups = [group_of(FOUR, group_id=name) for name in "ab"]
    results, ledger = await judged(tmp_path, groups, [SimulatedJudge(QUALITY)])
    write_lines(results, [result_of("other", member("x"))])
    (shown,) = data_of(report_of(tmp_path, results, ledger))["run"]
    assert (shown["at"], shown["lacks"]) == ([], ["None of its groups is among the results."])
    write_lines(results, [result_of("a", member("right"))])
    (shown,) = data_of(report_of(tmp_path, results, ledger))["run"]
    assert "1 of the run's 2 groups are among the results, and only these count." in shown["lacks"]


async def test_a_run_without_a_finished_group_says_so(tmp_path: Path):
    _, ledger = await judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(QUALITY)])
    with sqlite3.connect(ledger) as opened:  # as a run leaves it that was killed while it judged its first group
        opened.execute("DELETE FROM groups")
    opened.close()
    (shown,) = data_of(report_of(tmp_path, ledger))["run"]
    assert (shown["at"], shown["panels"], shown["lacks"]) == ([], [], ["No group is finished yet."])


async def test_a_watched_run_has_its_audit_its_broken_rules_and_links_to_groups_of_one_step(tmp_path: Path):
    run = await trained(tmp_path, steps=6)
    shown = watched_run(str(run.watched))
    assert shown["title"] == "A watched run"
    assert panel(shown, "reward")["audit judge's score"]["mean"][:2] == [pytest.approx(0.425, abs=0.01), None]
    assert panel(shown, "kl")["KL (nats)"]["half"] is None
    assert [one["name"] for one in shown["alarms"]] == ["length"]
    assert shown["examples"][3] == {"ids": [f"step 3 prompt {n}" for n in range(4)], "groups": 4}
    assert shown["lacks"] == []


async def test_groups_that_recur_are_not_linked(tmp_path: Path):
    run = await trained(tmp_path, steps=2)
    rows = (run.watched / "groups.jsonl").read_text(encoding="utf-8")
    (run.watched / "groups.jsonl").write_text(rows.replace("step 1 prompt 0", "step 0 prompt 0"), encoding="utf-8")
    first, second = watched_run(str(run.watched))["examples"]
    assert "step 0 prompt 0" not in (*first["ids"], *second["ids"])
    assert len(first["ids"]) == len(second["ids"]) == 3


def test_a_watched_run_that_has_just_begun_says_so(tmp_path: Path):
    about = {"format": "calipers-watch/1", "calipers": "0.2.0", "title": ""}
    write_lines(tmp_path / "watch.json", [about])
    shown = watched_run(str(tmp_path))
    assert (shown["at"], shown["lacks"]) == ([], ["No group has been judged yet."])
    write_lines(tmp_path / "watch.json", [about | {"format": "calipers-watch/9"}])
    with pytest.raises(InputError, match=r"watch\.json: its format is 'calipers-watch/9'"):
        watched_run(str(tmp_path))


async def test_a_row_that_is_being_written_is_left_out_and_a_bad_one_is_named(tmp_path: Path):
    run = await trained(tmp_path, steps=2)
    with (run.watched / "groups.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 2, "spl')
    assert watched_run(str(run.watched))["at"] == [0, 1]
    with (run.watched / "groups.jsonl").open("a", encoding="utf-8") as file:
        file.write('it": "train"}\n')
    with pytest.raises(InputError, match=r"groups\.jsonl:9: is not a row of a watched run"):
        watched_run(str(run.watched))


@pytest.mark.parametrize("steps", [1, MOST_POINTS, MOST_POINTS + 1, 3 * MOST_POINTS - 1])
def test_blocks_hold_every_step_once(steps: int):
    blocks = blocks_of(range(0, 2 * steps, 2))
    assert len(blocks) <= MOST_POINTS
    assert [step for block in blocks for step in block] == list(range(0, 2 * steps, 2))
    assert len({len(block) for block in blocks[:-1]}) <= 1


def test_a_line_that_never_changes_is_said_and_not_drawn():
    curves = Curves()
    curves.add(1, {"a": (0.0, None), "b": (0.5, 0.1)})
    curves.add(2, {"a": (0.0, None), "c": (2.0, None)})
    wanted = (Panel("one", "One", {"a": "A", "b": "B"}), Panel("two", "Two", {"a": "A", "b": "B"}, always=True))
    shown, steady = panels_of(wanted, curves)
    assert [[line["label"] for line in one["lines"]] for one in shown] == [["A", "B"]]
    assert steady == [{"title": "One", "label": "A", "value": 0.0}, {"title": "One", "label": "B", "value": 0.5}]
    assert shown[0]["lines"][1] == {"label": "B", "mean": [0.5, None], "half": [0.1, None]}
    assert curves.series["c"] == [None, (2.0, None)]


async def test_a_bands_bounds_are_those_of_what_is_drawn(tmp_path: Path):
    run = await trained(tmp_path, steps=3)
    for shown in data_of(report_of(tmp_path, run.ledger, run.watched))["run"]:
        within = {one["key"]: one["within"] for one in shown["panels"]}
        assert within["fidelity"] == [-1.0, 1.0]
        assert within["length"] == [0.0, None]
        assert within["reward"] == [None, None]


async def test_gold_is_called_gold_in_a_ledgers_run_and_truth_in_a_watched_one(tmp_path: Path):
    run = await trained(tmp_path, steps=3)
    recorded, watched = data_of(report_of(tmp_path, run.ledger, run.watched))["run"]
    assert "truth" not in str([recorded["panels"], recorded["lacks"], recorded["steady"]])
    assert "audit" not in str(recorded["panels"])
    assert panel(watched, "fidelity").keys() == {"with truth", "with the audit"}
