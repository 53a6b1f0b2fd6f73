"""Mistakes that were answered with silence, with another value, or with text that names nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from calipers.cli.result_file import Output
from calipers.errors import ConfigError
from calipers.inputs.jsonl import read_json_lines
from calipers.ledger import open_ledger
from calipers.types import GroupResult
from groups import FOUR, group_of
from servers.faulty_server import FaultyServer, error


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "g.jsonl").write_text(json.dumps(group_of(FOUR).to_dict()) + "\n", encoding="utf-8")
    (tmp_path / "empty").write_text("")
    (tmp_path / "prose.jsonl").write_text("hello\n")
    return tmp_path


def calipers(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": "", "HOME": str(folder), **variables},
    )


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("[score]\norders = 2.5\n", "calipers.toml:2: orders: '2.5' is not a whole number"),
        ("[score]\norders = true\n", "calipers.toml:2: orders: 'true' is not a whole number"),
        ("[score]\nstrict = 'maybe'\n", "calipers.toml:2: strict: 'maybe' is neither true nor false"),
        ("[rubric.draft]\nfirst = 2\n", "there is no table [rubric.draft]"),
        ("rubric = ''\n", "calipers.toml:1: --rubric: the name of the file is empty"),
        ("log-level = 'debug'\n", "calipers.toml:1: 'log-level' is no setting of this file"),
        ("\norders = ", "calipers.toml:2: not valid TOML"),
    ],
)
def test_a_mistake_in_the_settings_file_is_named_and_changes_no_number(folder: Path, settings: str, says: str):
    (folder / "calipers.toml").write_text(settings)
    done = calipers(folder, "score", "g.jsonl", "-o", "o.jsonl")
    assert done.returncode == 2
    assert says in done.stderr
    assert not (folder / "o.jsonl").exists()


def test_a_mistyped_variable_of_the_environment_is_named(folder: Path):
    others = {"CALIPERS_DATA": "/data", "CALIPERS_SERVER_TOKEN": "secret", "CALIPERS_LOG_LEVEL": "error"}
    done = calipers(folder, "score", "g.jsonl", "-o", "s.jsonl", "--judge", "embedded", CALIPERS_ORDRS="3", **others)
    assert done.returncode == 0
    notes = [line for line in done.stderr.splitlines() if line.startswith("Note:")]
    assert notes == ["Note: the environment variable CALIPERS_ORDRS sets nothing; did you mean CALIPERS_ORDERS?"]


def test_an_error_about_a_value_of_the_environment_names_the_variable(folder: Path):
    done = calipers(folder, "score", "g.jsonl", "-o", "o.jsonl", CALIPERS_JUDGE="embeded")
    assert done.returncode == 2
    assert "It comes from the environment variable CALIPERS_JUDGE." in done.stderr


@pytest.mark.parametrize("command", [("replay", "-o", "o.jsonl", "empty"), ("ledger", "list", "empty")])
def test_a_command_that_reads_a_ledger_leaves_an_empty_file_empty(folder: Path, command: tuple[str, ...]):
    done = calipers(folder, *command)
    assert done.returncode == 2
    assert "empty: is empty, so no run is recorded in it" in done.stderr
    assert (folder / "empty").read_bytes() == b""


def test_a_folder_in_place_of_a_ledger_is_called_one(folder: Path):
    done = calipers(folder, "ledger", "list", ".")
    assert done.returncode == 2
    assert "It is a folder; name a file in it." in done.stderr


def test_a_ledger_in_place_of_json_lines_is_one_error(tmp_path: Path):
    open_ledger(tmp_path / "l.db").close()
    rows = list(read_json_lines(tmp_path / "l.db"))
    assert len(rows) == 1
    assert "such as a ledger" in str(rows[0][1])


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("calibrate", "prose.jsonl", "--judge", "embedded"), "prose.jsonl:1: not JSON"),
        (("calibrate", "g.jsonl", "--judgments", "prose.jsonl"), "no judgment in it is about a group"),
        (("show", "prose.jsonl"), "holds no judged groups"),
        (("report", "empty", "-o", "r.html"), "holds no judged groups"),
        (("score", "g.jsonl", "-o", "o.jsonl", "--budget", "calls=1.5"), "calls are counted whole"),
        (("ifeval", "prose.jsonl"), "prose.jsonl:1: not JSON: Expecting value at column 1, near 'hello'"),
    ],
)
def test_what_cannot_be_used_is_said_with_exit_code_2(folder: Path, command: tuple[str, ...], says: str):
    done = calipers(folder, *command)
    assert done.returncode == 2
    assert says in done.stderr


def test_misspelt_keys_of_groups_and_trajectories_are_pointed_out(folder: Path):
    row = {"groupid": "x", "trajectories": [{"rewrd": 1, "messages": [{"role": "assistant", "content": "4"}]}]}
    (folder / "g.jsonl").write_text(json.dumps(row) + "\n")
    done = calipers(folder, "score", "g.jsonl", "-o", "o.jsonl")
    assert "'groupid'; did you mean 'group_id'?" in done.stderr
    assert "'rewrd' of a trajectory; did you mean 'reward'?" in done.stderr
    row["trajectories"] = [{"gold": 1, "message": []}]
    (folder / "g.jsonl").write_text(json.dumps(row) + "\n")
    done = calipers(folder, "score", "g.jsonl", "-o", "p.jsonl")
    assert "did you mean 'messages' by 'message'?" in done.stderr


def test_a_judge_that_refuses_everything_leaves_no_ledger(folder: Path, faulty: FaultyServer):
    faulty.script(error(404, "no such model"))
    at = ("--judge", "vllm/judge", "--base-url", faulty.url)
    done = calipers(folder, "score", "g.jsonl", "-o", "o.jsonl", *at)
    assert done.returncode == 2
    assert not (folder / "o.jsonl.ledger.db").exists()


def _write_two(path: Path, first: GroupResult, resource: ModuleType) -> None:
    """Write a result, and another for which there is no room."""
    with Output(str(path)) as output:
        output.write(first)
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, most))
        output.write(GroupResult("g2" * 500, "scored", ()))


def test_a_result_file_that_could_not_be_written_ends_with_a_whole_line(tmp_path: Path):
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    path, before = tmp_path / "o.jsonl", resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    first = GroupResult("g1", "scored", ())
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            _write_two(path, first, resource)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_text() == json.dumps(first.to_dict(), ensure_ascii=False) + "\n"
