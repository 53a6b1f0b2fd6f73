"""What is recorded of a training study: the profiles that its judges answer with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calipers.errors import ConfigError
from calipers.study.profiles.files import parse_profile, write_profile
from calipers.study.profiles.named import shipped_profile
from calipers.study.training.results import write_study
from training_studies import study


def test_the_contents_of_profiles_are_recorded_and_may_not_change_under_a_study(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    write_profile(file, shipped_profile("gpt-5.4-mini"))
    judges = {
        "file": {"profile": f"{file}?fidelity=0.4"},
        "model": {"model": "profile:gpt-5.4-nano"},
        "member": {"profile": "gpt-5.4"},
        "panel": {"panel": ["member", "true"]},
        "true": {},
    }
    made = study({"judge": "file"}, {"judge": "panel"}, judges=judges, audit={"judge": "model"})
    out = tmp_path / "out"
    write_study(made, "", out)
    recorded = json.loads((out / "study.json").read_text(encoding="utf-8"))["profiles"]
    assert list(recorded) == [f"{file}?fidelity=0.4", "gpt-5.4", "gpt-5.4-nano"]
    profile = recorded[f"{file}?fidelity=0.4"]
    assert parse_profile(json.dumps(profile)) == shipped_profile("gpt-5.4-mini")
    write_study(made, "", out)
    write_profile(file, shipped_profile("gpt-5.4-t0"))
    with pytest.raises(ConfigError, match=r"begun with another content of profile '.*mine\.json"):
        write_study(made, "", out)


def test_a_study_without_profiles_records_none(tmp_path: Path) -> None:
    write_study(study({}), "", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "study.json").read_text(encoding="utf-8"))["profiles"] == {}
