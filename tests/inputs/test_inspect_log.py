"""Logs of inspect_ai: what is whole in an ``.eval`` file is read, and what is not is named."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import as_group, read_groups
from inputs.written import ASKED, read, said_in

HEADER: dict[str, Any] = {"header.json": {"eval": {"task": "t"}}}


def sample(text: str, **more: Any) -> dict[str, Any]:
    return {"id": "s", "epoch": 1, "messages": [ASKED, {"role": "assistant", "content": text}], **more}


def log(path: Path, entries: dict[str, Any], archives: Any = zipfile) -> Path:
    method = getattr(archives, "ZIP_ZSTANDARD", zipfile.ZIP_DEFLATED)
    with archives.ZipFile(path, "w", method) as archive:
        for name, value in entries.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


def test_bad_samples_are_named_and_the_others_are_read(tmp_path: Path):
    bad = {"b": b"{broken", "c": b"[1]", "d": b"\xff\xfe", "e": b"[" * 100_000, "f/0": {}}
    entries = HEADER | {f"samples/{name}.json": value for name, value in bad.items()}
    groups, problems = read(log(tmp_path / "a.eval", entries | {"samples/a.json": sample("a")}))
    assert (said_in(groups), groups[0].group_id) == ([[["q", "a"]]], "t/s")
    assert len(problems) == len(bad)
    assert problems[0].startswith(":2: the entry 'samples/b.json' is damaged")


def test_the_journal_names_the_task_and_a_missing_header_names_none(tmp_path: Path):
    entries: dict[str, Any] = {"_journal/start.json": {"eval": {"task": "t"}}, "samples/s.json": sample("a")}
    assert [group.group_id for group in read_groups(log(tmp_path / "a.eval", entries))] == ["t/s"]
    entries = {"header.json": b"{", "samples/s.json": sample("a")}
    assert [group.group_id for group in read_groups(log(tmp_path / "b.eval", entries))] == ["s"]


def test_epochs_of_a_sample_are_a_group_also_where_zstd_is_used(tmp_path: Path):
    zstd_zip = pytest.importorskip("backports.zstd.zipfile")
    entries = HEADER | {f"samples/s_epoch_{number}.json": sample(f"a{number}") for number in (1, 2)}
    for archives in (zipfile, zstd_zip):
        (group,) = read_groups(log(tmp_path / "a.eval", entries, archives))
        assert said_in([group]) == [[["q", "a1"], ["q", "a2"]]]


def test_a_file_that_is_no_zip_or_has_no_samples_is_refused(tmp_path: Path):
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04nothing")
    with pytest.raises(InputError, match=r"a damaged \.eval file"):
        list(read_groups(tmp_path / "a.eval"))
    with pytest.raises(InputError, match="without samples"):
        list(read_groups(log(tmp_path / "b.eval", HEADER)))


def test_the_output_is_the_answer_where_no_message_is_one():
    output = {"choices": [{"message": {"role": "assistant", "content": "a"}}]}
    base = {"id": 1, "epoch": 1, "input": "q", "target": "t", "output": output}
    for messages, contents, noted in (
        ([ASKED], ["q", "a"], None),
        ([ASKED, {"role": "assistant", "content": "b"}], ["q", "b"], "a"),
        ([ASKED, {"role": "assistant", "content": "so: a"}], ["q", "so: a"], None),
    ):
        (one,) = as_group(base | {"messages": messages}).trajectories
        assert ([message["content"] for message in one.messages], one.metadata.get("output")) == (contents, noted)


def test_calls_errors_and_attachments_are_in_their_places():
    parts = [{"type": "tool_use", "id": "w", "name": "web", "arguments": "{}", "result": "r"}]
    call = {"id": "c", "function": "look", "arguments": {}, "type": "function"}
    messages = [
        {"role": "user", "content": "attachment://x"},
        {"role": "assistant", "content": parts, "tool_calls": [call]},
        {"role": "tool", "content": "", "tool_call_id": "c", "error": {"message": "late"}},
    ]
    row = {"id": 1, "epoch": 1, "input": "q", "target": "t", "messages": messages, "attachments": {"x": "whole"}}
    read_ = as_group(row).trajectories[0].messages
    assert read_[0]["content"] == "whole"
    assert [[one["id"] for one in message.get("tool_calls", [])] for message in read_] == [[], ["w"], [], ["c"], []]
    assert (read_[-1]["content"], read_[-1]["is_error"]) == ("late", True)
