"""What the page says of judges: the calibration's own statement, its figures, and the health of a run."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

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
