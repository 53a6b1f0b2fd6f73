"""Damaged, unfinished and odd ``.eval`` files: what is whole in them is read, and what is not is named."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import read_groups
from inputs.foreign.written import read, said_in

HEADER = {"header.json": {"eval": {"task": "t"}}}


def sample(text: str) -> dict[str, Any]:
    asked, said = {"role": "user", "content": "q"}, {"role": "assistant", "content": text}
    return {"id": "s", "epoch": 1, "messages": [asked, said]}


def log(path: Path, entries: dict[str, Any], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, value in entries.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{broken", "is damaged (Expecting property name"),
        (b"[1]", "is not a JSON object"),
        (b"\xff\xfe", "is damaged ("),
        (b"[" * 100_000, "is damaged (nested too deeply)"),
    ],
)
def test_a_bad_sample_is_named_and_the_others_are_read(bad: bytes, reason: str, tmp_path: Path):
    entries = HEADER | {"samples/s_epoch_1.json": sample("a"), "samples/s_epoch_2.json": bad}
    groups, problems = read(log(tmp_path / "a.eval", entries | {"samples/s_epoch_3.json": sample("b")}))
    assert said_in(groups) == [[["q", "a"], ["q", "b"]]]
    assert problems[0].startswith(f":2: the entry 'samples/s_epoch_2.json' {reason}")


@pytest.mark.parametrize("header", [{}, {"header.json": [1]}, {"header.json": b"{"}, {"header.json": {"eval": 5}}])
def test_samples_are_read_without_a_whole_header(header: dict[str, Any], tmp_path: Path):
    groups, problems = read(log(tmp_path / "a.eval", header | {"samples/s_epoch_1.json": sample("a")}))
    assert ([group.group_id for group in groups], problems) == (["s"], [])


def test_the_journal_names_the_task_of_a_run_that_did_not_end(tmp_path: Path):
    entries = {"_journal/start.json": {"eval": {"task": "t"}}, "samples/s_epoch_1.json": sample("a")}
    groups, _ = read(log(tmp_path / "a.eval", entries))
    assert groups[0].group_id == "t/s"


def test_bytes_that_changed_are_named_with_their_entry(tmp_path: Path):
    entries = HEADER | {f"samples/s_epoch_{number}.json": sample("a" * 500) for number in (1, 2)}
    path = log(tmp_path / "a.eval", entries)
    data = bytearray(path.read_bytes())
    at = data.index(b"samples/s_epoch_1.json") + 40
    data[at : at + 20] = b"\xff" * 20
    path.write_bytes(data)
    groups, problems = read(path)
    assert len(groups) == 1
    assert problems[0].startswith(":1: the entry 'samples/s_epoch_1.json' is damaged (")


@pytest.mark.parametrize("keep", [10, 200, -30])
def test_a_file_that_breaks_off_is_named(keep: int, tmp_path: Path):
    path = log(tmp_path / "a.eval", HEADER | {"samples/s_epoch_1.json": sample("a")})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"a\.eval: is a damaged \.eval file \(.*\); copy it again"):
        list(read_groups(path))


def test_a_file_without_samples_and_samples_in_chunks_are_named(tmp_path: Path):
    with pytest.raises(InputError, match=r"a\.eval: is an \.eval file without samples"):
        list(read_groups(log(tmp_path / "a.eval", HEADER)))
    chunks: dict[str, Any] = {"samples/x_epoch_1/sample.json": {}, "samples/x_epoch_1/messages/0.json": []}
    groups, problems = read(log(tmp_path / "b.eval", HEADER | chunks | {"samples/s_epoch_1.json": sample("a")}))
    assert len(groups) == 1
    assert problems[0].startswith(
        ":2: the sample x_epoch_1 is in chunks, which are not read; write it as JSON: inspect"
    )


def test_an_entry_written_twice_counts_once(tmp_path: Path):
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("samples/s_epoch_1.json", json.dumps(sample("old")))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("samples/s_epoch_1.json", json.dumps(sample("new")))
    groups, _ = read(path)
    assert said_in(groups) == [[["q", "new"]]]
