"""``calipers profile``, run as a person runs it, and shipped profiles as they are listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calipers.cli import app
from calipers.errors import CalipersError
from calipers.study.profiles.profile import read_profile, shipped_names


def calipers(*arguments: str) -> int:
    return int(app.main(list(arguments), standalone_mode=False) or 0)


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with groups.jsonl and said.jsonl: ten groups, scored twice by two judges."""
    monkeypatch.chdir(tmp_path)
    groups = [
        {
            "group_id": f"g{n}",
            "trajectories": [{"id": name, "messages": [], "gold": int(name == "a")} for name in "abc"],
        }
        for n in range(10)
    ]
    rows = [
        {
            "group_id": f"g{n}", "judge": judge, "mode": "pointwise", "order": ["a", "b", "c"], "sample_index": sample,
            "parsed": {"scores": {"a": 70 + (n + sample) % 3, "b": 40, "c": 50 - n % 2}}, "scale": [0, 100],
        }
        for n in range(10)
        for sample in range(2)
        for judge in ("ann", "ben")
    ]  # fmt: skip
    for name, lines in (("groups.jsonl", groups), ("said.jsonl", rows)):
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return tmp_path


def test_a_profile_is_measured_written_and_shown(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = ("profile", "groups.jsonl", "said.jsonl", "--answers-of", "ann", "-o", "p.json", "--note", "a try")
    assert calipers(*measured) == 0
    done = capsys.readouterr()
    assert "--judge profile:p.json" in done.err
    assert {"ann", "a try"} <= {read_profile(recorded / "p.json").judge, read_profile(recorded / "p.json").note}
    assert calipers("profile", "p.json") == 0
    assert capsys.readouterr().out == done.out
    assert "noise" in done.out
    assert calipers("profile", "p.json", "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads((recorded / "p.json").read_text(encoding="utf-8"))
    assert calipers(*measured, "--force") == 0


def test_a_bad_line_is_reported_and_the_exit_code_is_1(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (recorded / "said.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n{}")
    assert calipers("profile", "groups.jsonl", "said.jsonl", "--answers-of", "ann") == 1
    assert "said.jsonl:41" in capsys.readouterr().err


def test_a_mistake_names_its_remedy_and_writes_nothing(recorded: Path) -> None:
    (recorded / "notes.txt").write_text("mine", encoding="utf-8")
    said = ("groups.jsonl", "said.jsonl")
    refused = {
        said: "--answers-of",
        (*said, "--answers-of", "ann", "-o", "notes.txt"): "so it is not replaced",
        (*said, "--answers-of", "ann", "-o", "said.jsonl", "--force"): "the judgments file",
        ("gpt-5.4-mni",): "did you mean gpt-5.4-mini",
        ("gpt-5.4", "-o", "p.json"): "GROUPS and JUDGMENTS",
        ("groups.jsonl",): "is no profile|not readable JSON",
    }
    for arguments, named in refused.items():
        with pytest.raises(CalipersError, match=named):
            calipers("profile", *arguments)
    assert (recorded / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_shipped_profiles_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert "gpt-5.4-mini" in shipped_names()
    assert calipers("profile", "gpt-5.4-mini") == 0
    assert "gpt-5.4-mini, pointwise, base, t=1" in capsys.readouterr().out
