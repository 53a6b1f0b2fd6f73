"""The label file: what was confirmed is on the disk, whatever happens next."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calipers.errors import ConfigError, InputError
from calipers.labelling.labels import Label, LabelFile, StaleLabelError, label_from
from labelled import fail, label_of

ONE = {"a": 1, "b": 2, "c": None}


def opened(path: Path) -> LabelFile:
    return LabelFile(path, on_error=fail)


def test_a_label_is_read_back_as_it_was_and_lines_that_are_no_labels_are_refused(tmp_path: Path):
    label = label_of("g", "ann", ONE, shown=("b", "a", "c"), note="tie?\nno")
    assert opened(tmp_path / "l").append(label, based_on=0) == 1
    again = opened(tmp_path / "l")
    assert (again.current("ann", "g"), again.labels()) == ((label, 1), [label])
    for change in ({"ranks": {"a": 0}}, {"shown": "ab"}, {"note": None}, {"annotator": 3}, {"format": "x"}):
        with pytest.raises(InputError, match="label" if "format" in change else next(iter(change))):
            label_from(label.to_dict() | change)
    with pytest.raises(ConfigError, match="cannot be written"):
        opened(tmp_path / "none" / "l").append(label)
    for text in ('{"group_id": "g", "trajectories": []}\n', "a,b\n", "no line break"):
        (tmp_path / "other").write_text(text)
        with pytest.raises(ConfigError, match="is not a file of calipers label"):
            opened(tmp_path / "other")
        assert (tmp_path / "other").read_text() == text


def test_the_last_label_counts_and_one_based_on_an_older_one_is_refused(tmp_path: Path):
    one, other = opened(tmp_path / "l"), opened(tmp_path / "l")
    first, second = label_of("g", "ann", {"a": 1, "b": 2}), label_of("g", "ann", {"a": 2, "b": 1})
    one.append(first, based_on=0)
    with pytest.raises(StaleLabelError) as caught:
        other.append(second, based_on=0)
    assert (caught.value.revision, other.current("ann", "g")[0]) == (1, first)
    assert other.append(first, based_on=0) == 1  # the same label again is one whose confirmation got lost
    assert other.append(second, based_on=1) == 2
    other.append(label_of("g", "ann", None), based_on=2)
    assert (other.current("ann", "g"), opened(tmp_path / "l").labels()) == ((None, 3), [])
    assert len((tmp_path / "l").read_text().splitlines()) == 3


def writer(path: Path, name: str, count: int, *, largest: int = 10**9) -> subprocess.Popen[str]:
    """A process that appends labels to a file until it has ``count`` or the file would get too large; it prints how
    many it saved, and why it ended.
    """
    script = f"""
import resource
from pathlib import Path
from calipers.errors import ConfigError
from calipers.labelling.labels import Label, LabelFile
resource.setrlimit(resource.RLIMIT_FSIZE, ({largest}, {largest}))
file = LabelFile(Path({str(path)!r}), on_error=print)
for number in range({count}):
    try:
        file.append(Label(f"g{{number}}", {name!r}, "t", "", {{"a": 1, "b": 2}}, note="x" * 30), based_on=0)
    except ConfigError as error:
        print(number, error)
        break
"""
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


def test_two_processes_lose_nothing(tmp_path: Path):
    path = tmp_path / "l"
    writers = [writer(path, name, 40) for name in ("ann", "ben")]
    for n in range(20):
        opened(path).append(label_of(f"g{n}", "eve", ONE))
    assert [(one.communicate(timeout=60)[0], one.returncode) for one in writers] == [("", 0)] * 2
    found = opened(path)
    assert {name: len(found.of(name)) for name in ("ann", "ben", "eve")} == {"ann": 40, "ben": 40, "eve": 20}


def test_a_line_that_a_crash_cut_off_is_reported_and_swallows_no_other(tmp_path: Path):
    path = tmp_path / "l"
    opened(path).append(label_of("g0", "ann", ONE))
    with path.open("ab") as stream:
        stream.write(b'{"format":"calipers-label/1","group_id":"g1","anno')
    said: list[str] = []
    file = LabelFile(path, on_error=lambda error: said.append(str(error)))
    assert said == []  # another process may still be writing it
    file.append(label_of("g2", "ann", ONE))
    assert [one.startswith(f"{path}:2: is not a whole label") for one in said] == [True]
    assert list(LabelFile(path, on_error=lambda _: None).of("ann")) == ["g0", "g2"]
    path.write_bytes(b'{"form')  # the first line, cut off
    LabelFile(path, on_error=lambda _: None).append(label_of("g", "ann", ONE))
    assert list(LabelFile(path, on_error=lambda _: None).of("ann")) == ["g"]


def test_a_label_that_does_not_fit_on_the_disk_is_an_error_and_leaves_no_trace(tmp_path: Path):
    path = tmp_path / "l"
    saved, _, error = writer(path, "ann", 50, largest=1000).communicate(timeout=60)[0].partition(" ")
    assert error == f"--labels {path}: cannot be written: {os.strerror(27)}\n"
    lines = path.read_text().splitlines()
    assert len(lines) == int(saved) > 2
    assert all(isinstance(label_from(json.loads(line)), Label) for line in lines)
    assert path.read_bytes().endswith(b"\n")


def test_a_label_is_flushed_to_the_disk_before_it_is_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    opened(tmp_path / "l").append(label_of("g", "ann", ONE))
    assert synced[-1] == (tmp_path / "l").stat().st_size > 0
