"""What the page says of judges: the calibration's own statement, its figures, and the health of a run."""

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from calipers.calibration import calibrate
from calipers.errors import InputError
from calipers.interfaces import Backend
from calipers.report.judges import calibration_of
from calipers.testing import Flaky, SimulatedJudge
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


def test_the_page_claims_what_paired_differences_show_and_not_what_intervals_suggest(tmp_path: Path):
    """Two judges err on the same groups: their intervals overlap, and yet one is better on nearly every group."""
    generator = random.Random(5)
    asked, judgments = [], []
    for number in range(60):
        gold = {name: generator.gauss(0, 1) for name in "abcd"}
        members = [{"id": name, "gold": value, "messages": []} for name, value in gold.items()]
        asked.append({"group_id": f"g{number}", "trajectories": members})
        noise = {name: generator.gauss(0, generator.choice([0.1, 3.0])) for name in gold}
        for judge, share in (("better", 0.8), ("worse", 1.0)):
            scores = {name: 50 + 10 * (gold[name] + share * noise[name]) for name in gold}
            judgments.append({"group_id": f"g{number}", "judge": judge, "mode": "listwise", "order": [*gold],
                              "parsed": {"scores": scores}, "sample_index": 0, "temperature": 1.0})  # fmt: skip
    found = calibrate(asked, judgments).to_dict()
    intervals = {one["judge"]: one["advantage_fidelity_interval"] for one in found["judges"]}
    assert intervals["better"][0] < intervals["worse"][1], "the intervals overlap"
    (tmp_path / "c.json").write_text(json.dumps(found), encoding="utf-8")
    assert calibration_of(str(tmp_path / "c.json"))["answer"] == "better agrees better with gold than worse."


def test_verdicts_on_criteria_are_shown(tmp_path: Path):
    judge = {"judge": "j", "rows": 40, "ungraded": 10, "reasons": {"said xsecretx": 10},
             "overall": {"balanced_f1": 0.7, "interval": [0.6, 0.8]}}  # fmt: skip
    (tmp_path / "c.json").write_text(json.dumps({"judges": [judge], "among": 40}), encoding="utf-8")
    found = calibration_of(str(tmp_path / "c.json"))
    assert card(found, "Verdicts on criteria")["rows"][0]["value"] == 0.7
    assert card(found, "Without a readable answer")["rows"][0]["value"] == 0.25
    assert "xsecretx" in json.dumps(found)


def test_a_damaged_calibration_is_shown_or_refused_in_a_sentence(tmp_path: Path):
    path = calibration_file(tmp_path / "c.json", groups=8, calls=2)
    for copy in damaged(json.loads(path.read_text(encoding="utf-8"))):
        path.write_text(json.dumps(copy), encoding="utf-8")
        with suppress(InputError):
            json.dumps(calibration_of(str(path)), allow_nan=False)
    for text in (
        '{"judges": [',
        '{"judges": []}',
        '{"judges": [{"noise": ' + "9" * 5000 + "}]}",
        '{"judges": ' + "[" * 99999,
    ):
        path.write_text(text, encoding="utf-8")
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
