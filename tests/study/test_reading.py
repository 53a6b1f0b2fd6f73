"""A TOML file is read into options, with the lines of what is wrong; and only a sound file is read at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from calipers.errors import ConfigError
from calipers.study.reading import TomlFile, lines_of

TEXT = """\
a.b = 1
[x]
y = 1
[judges."one two"]
vices = [
  { kind = "N" },
]
[[arms]]
name = 'x#'
[[arms]]
name = "y"
[arms.training]
kl = 1
"""


def test_tables_and_keys_have_lines():
    assert lines_of(TEXT) == {
        ("a",): 1,
        ("a", "b"): 1,
        ("x",): 2,
        ("x", "y"): 3,
        ("judges",): 4,
        ("judges", "one two"): 4,
        ("judges", "one two", "vices"): 5,
        ("arms",): 8,
        ("arms", 0): 8,
        ("arms", 0, "name"): 9,
        ("arms", 1): 10,
        ("arms", 1, "name"): 11,
        ("arms", 1, "training"): 12,
        ("arms", 1, "training", "kl"): 13,
    }


def test_names_can_be_those_of_folders():
    for name, sound in (
        ("content early", True),
        ("reliability, 4 x 0.5", True),
        ("own gpt-5.4", True),
        ("correlation -0.5", True),
        ("../../x", False),
        ("a/b", False),
        ("a\\b", False),
        (".env", False),
        ("a.", False),
        ("", False),
        ("x" * 101, False),
        ("a\nb", False),
        (3, False),
    ):
        file = TomlFile("f", "", {})
        file.require_name(name, "arms")
        assert (not file.problems) == sound, name


def test_what_is_no_sound_file_is_refused(tmp_path: Path):
    wrong = {"text": b"a = ", "bytes": b"\xff\xfe", "deep": b"a = " + b"[" * 5000, "digits": b"a = " + b"1" * 5000}
    for name, content in wrong.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"#" * (2**20 + 1))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("text", "bytes", "deep", "digits", "pipe", "large", "loop", "missing", "."):
        with pytest.raises(ConfigError) as error:
            TomlFile.read(tmp_path / name)
        assert str(tmp_path) in str(error.value), name
