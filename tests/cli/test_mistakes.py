"""Mistakes that were answered with silence, with another value, or with text that names nothing."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from calipers.cli.output import Output
from calipers.errors import ConfigError
from calipers.types import GroupResult
from command_line import Calipers
from groups import FOUR, group_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "g.jsonl").write_text(json.dumps(group_of(FOUR).to_dict()) + "\n", encoding="utf-8")
    (tmp_path / "empty").write_text("")
    (tmp_path / "prose.jsonl").write_text("hello\n")
    return tmp_path


def test_misspelt_keys_of_groups_and_trajectories_are_pointed_out(folder: Path, calipers: Calipers):
    row = {"groupid": "x", "trajectories": [{"rewrd": 1, "messages": [{"role": "assistant", "content": "4"}]}]}
    (folder / "g.jsonl").write_text(json.dumps(row) + "\n")
    done = calipers("score", "g.jsonl", "-o", "o.jsonl")
    assert "'groupid'; did you mean 'group_id'?" in done.err
    assert "'rewrd' of a trajectory; did you mean 'reward'?" in done.err
    row["trajectories"] = [{"gold": 1, "message": []}]
    (folder / "g.jsonl").write_text(json.dumps(row) + "\n")
    done = calipers("score", "g.jsonl", "-o", "p.jsonl")
    assert "did you mean 'messages' by 'message'?" in done.err


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
