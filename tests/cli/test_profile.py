"""``calipers profile``, run as a person runs it, and profiles as judges of other commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calipers.study.profiles import read_profile
from calipers.study.profiles.named import shipped_names
from drawn_answers import Drawn


def calipers(*arguments: object, cwd: Path, columns: int = 160, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", *map(str, arguments)],
        cwd=cwd, env=os.environ | {"COLUMNS": str(columns)} | environment, capture_output=True, text=True, timeout=110,
        check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with groups.jsonl and said.jsonl: 40 groups, scored by two judges."""
    folder = tmp_path_factory.mktemp("recorded")
    records, frame = Drawn(groups=40, size=4, repeats=2).records(0)
    groups = [json.dumps(group.to_dict()) for group in frame.groups]
    (folder / "groups.jsonl").write_text("\n".join(groups), encoding="utf-8")
    rows = [
        {
            "group_id": one.group_id,
            "judge": judge,
            "mode": "pointwise",
            "order": list(one.order),
            "parsed": {"scores": one.scores},
            "sample_index": one.sample,
            "scale": [0, 1],
        }
        for one in records
        for judge in ("ann", "ben")
    ]
    (folder / "said.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder


def test_a_profile_is_fitted_written_and_shown(recorded: Path, tmp_path: Path) -> None:
    said = recorded / "groups.jsonl", recorded / "said.jsonl"
    done = calipers("profile", *said, "--answers-of", "ann", "-o", "p.json", "--note", "a try", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ann: ann, pointwise" in done.stdout
    assert "noise between repeats" in done.stdout
    assert "Could not be told:" in done.stdout
    assert "position: each answer is about one candidate" in done.stdout
    assert "Note: a try" in done.stdout
    assert "Wrote p.json. A judge with this profile: --judge profile:p.json" in done.stderr
    profile = read_profile(tmp_path / "p.json")
    assert [one.name for one in profile.provenance.sources] == ["groups.jsonl", "said.jsonl"]
    shown = calipers("profile", "p.json", cwd=tmp_path)
    assert shown.stdout == done.stdout
    printed = json.loads(calipers("profile", "p.json", "--json", cwd=tmp_path).stdout)
    assert printed == json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))


def test_few_groups_and_scores_off_their_scale_are_told(recorded: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (recorded / "said.jsonl").read_text(encoding="utf-8").splitlines()]
    own = [row for row in rows if row["judge"] == "ann"][:6]
    own[0]["parsed"]["scores"][own[0]["order"][0]] = 75
    own[1]["scale"] = [0, 2]
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, own)), encoding="utf-8")
    shown = calipers("profile", recorded / "groups.jsonl", "said.jsonl", cwd=tmp_path).stdout
    assert "Outside their scale: 1 score, taken as its ends" in shown
    assert "Scores are on 2 scales, each mapped to 0-1" in shown
    assert "Intervals from fewer than 10 groups are too narrow" in shown


def test_the_table_fits_a_narrow_terminal(recorded: Path, tmp_path: Path) -> None:
    said = recorded / "groups.jsonl", recorded / "said.jsonl"
    done = calipers("profile", *said, "--answers-of", "ann", cwd=tmp_path, columns=60)
    assert done.returncode == 0
    assert "0.0" in done.stdout


def test_several_judges_are_listed_and_nothing_is_written(recorded: Path, tmp_path: Path) -> None:
    done = calipers("profile", recorded / "groups.jsonl", recorded / "said.jsonl", "-o", "p.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "choose one with --answers-of" in done.stderr
    assert "\n  ben, pointwise" in done.stderr
    assert not (tmp_path / "p.json").exists()


def test_a_bad_line_is_reported_and_the_exit_code_is_1(recorded: Path, tmp_path: Path) -> None:
    text = (recorded / "said.jsonl").read_text(encoding="utf-8")
    (tmp_path / "said.jsonl").write_text(text + "\n{}", encoding="utf-8")
    done = calipers("profile", recorded / "groups.jsonl", "said.jsonl", "--answers-of", "ann", cwd=tmp_path)
    assert done.returncode == 1
    assert "said.jsonl:161" in done.stderr


def test_a_foreign_file_and_a_source_are_not_replaced(recorded: Path, tmp_path: Path) -> None:
    said = recorded / "groups.jsonl", recorded / "said.jsonl", "--answers-of", "ann"
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    done = calipers("profile", *said, "-o", "notes.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert "exists and is not a judge's profile" in done.stderr
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert calipers("profile", *said, "-o", "notes.txt", "--force", cwd=tmp_path).returncode == 0
    assert calipers("profile", *said, "-o", "notes.txt", cwd=tmp_path).returncode == 0  # it is a profile now
    source = calipers("profile", *said, "-o", recorded / "said.jsonl", "--force", cwd=tmp_path)
    assert source.returncode == 2
    assert "is the source" in source.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing argument 'SOURCES...'"),
        (("none.jsonl",), "there is no such file"),
        (("gpt-5.4-mni",), "neither a file nor a shipped profile; did you mean gpt-5.4-mini?"),
        (("gpt-5.4", "gpt-5.4-mini"), "gpt-5.4 is a profile; name it alone"),
        (("x.jsonl", "--temperature", "nan"), "nan is not a finite number"),
        (("x.jsonl", "--mode", "listwize"), "'listwize' is not one of"),
        (("gpt-5.4", "-o", "p.json"), "--out: gpt-5.4 is a profile already; name groups and judgments"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = calipers("profile", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_profile_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{\n"calipers_profile": 1,\n"nmae": 2}', encoding="utf-8")
    done = calipers("profile", "p.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "p.json:3: nmae is an unknown key; did you mean 'name'?" in done.stderr


def test_shipped_profiles_are_listed_and_shown(tmp_path: Path) -> None:
    listed = calipers("judges", cwd=tmp_path)
    assert "profile:NAME" in listed.stdout
    assert all(name in listed.stdout for name in shipped_names())
    assert json.loads(calipers("judges", "--json", cwd=tmp_path).stdout)["profiles"] == list(shipped_names())
    shown = calipers("profile", "gpt-5.4-mini", cwd=tmp_path)
    assert "gpt-5.4-mini, pointwise, base, temperature 1" in shown.stdout


def test_a_shipped_profile_judges_and_its_ledger_is_fitted_again(recorded: Path, tmp_path: Path) -> None:
    groups = [json.loads(line) for line in (recorded / "groups.jsonl").read_text(encoding="utf-8").splitlines()]
    for group in groups:
        for one in group["trajectories"]:
            one["messages"] = [{"role": "assistant", "content": f"answer {one['id']} of {group['group_id']}"}]
    (tmp_path / "groups.jsonl").write_text("\n".join(map(json.dumps, groups)), encoding="utf-8")
    judge = "profile:gpt-5.4-mini?seed=1"
    scored = calipers(
        "score", "groups.jsonl", "-o", "scored.jsonl", "--judge", judge, "--protocol", "pointwise", cwd=tmp_path
    )
    assert scored.returncode == 0, scored.stderr
    results = [json.loads(line) for line in (tmp_path / "scored.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {result["status"] for result in results} == {"scored"}
    fitted = calipers("profile", "scored.jsonl.ledger.db", "--json", cwd=tmp_path)
    assert json.loads(fitted.stdout)["subject"]["judge"] == judge


def test_the_help_is_complete(tmp_path: Path) -> None:
    text = calipers("profile", "--help", cwd=tmp_path, columns=110).stdout
    for flag in ("--out", "--answers-of", "--mode", "--prompt-variant", "--temperature", "--criterion", "--format"):
        assert flag in text
