"""Rubrics that people write, in TOML, JSON and YAML."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError, InputError

TOML = """
title = "Support"
veto_floor = -0.5

[[criteria]]
id = "cites"
text = "Names the page of the manual."
points = 3
tags = ["axis:accuracy"]

[[criteria]]
id = "blames"
text = "Blames the customer."
points = -4
veto = true

[[criteria]]
id = "tone"
text = "Is polite."
levels = { rude = 0, plain = 0.5, warm = 1 }
"""


def test_the_three_forms_say_the_same(tmp_path: Path):
    (tmp_path / "r.toml").write_text(TOML, encoding="utf-8")
    rubric = calipers.read_rubric(tmp_path / "r.toml")
    assert [one.points for one in rubric.criteria] == [3, -4, 1.0]
    (tmp_path / "r.json").write_text(json.dumps(rubric.to_dict()), encoding="utf-8")
    assert calipers.read_rubric(tmp_path / "r.json") == rubric
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    (tmp_path / "r.yaml").write_text(
        "title: Support\nveto_floor: -0.5\ncriteria:\n"
        "- {id: cites, text: Names the page of the manual., points: 3, tags: ['axis:accuracy']}\n"
        "- {id: blames, text: Blames the customer., points: -4, veto: true}\n"
        "- {id: tone, text: Is polite., levels: {rude: 0, plain: 0.5, warm: 1}}\n",
        encoding="utf-8",
    )
    assert calipers.read_rubric(tmp_path / "r.yaml") == rubric


def test_a_list_of_questions_is_a_rubric(tmp_path: Path):
    (tmp_path / "r.json").write_text('["Is it short?", "Is it kind?"]', encoding="utf-8")
    assert [one.text for one in calipers.read_rubric(tmp_path / "r.json").criteria] == ["Is it short?", "Is it kind?"]


@pytest.mark.parametrize(("name", "content", "complaint"), [
    ("r.toml", b"criteria = [", "r.toml: is not TOML"),
    ("r.json", b"{", "r.json: is not JSON"),
    ("r.json", b"[" * 100_000, "r.json: is (not JSON|nested too deeply)"),
    ("r.json", b"\xff\xfe", "r.json: is not UTF-8"),
    ("r.json", b'{"criteria": [{"text": "x", "points": "no"}]}', "r.json: criterion 1: points must be a finite number"),
    ("r.toml", b'[[criteria]]\ntext = "x"\npoints = -1', "r.toml: no criterion has positive points"),
])  # fmt: skip
def test_what_is_wrong_with_a_file_names_it(tmp_path: Path, name: str, content: Any, complaint: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        calipers.read_rubric(tmp_path / name)


def test_a_file_that_is_not_there_or_of_another_kind(tmp_path: Path):
    with pytest.raises(InputError, match="no such file"):
        calipers.read_rubric(tmp_path / "r.toml")
    (tmp_path / "d.toml").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        calipers.read_rubric(tmp_path / "d.toml")
    with pytest.raises(ConfigError, match=r"\.toml, \.json"):
        calipers.read_rubric(tmp_path / "r.txt")


def test_yaml_that_is_none_names_the_file(tmp_path: Path):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    (tmp_path / "r.yaml").write_text("criteria: [", encoding="utf-8")
    with pytest.raises(InputError, match="is not YAML"):
        calipers.read_rubric(tmp_path / "r.yaml")


def test_yaml_without_its_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "r.yaml").write_text("criteria: []", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"calipers\[yaml\]"):
        calipers.read_rubric(tmp_path / "r.yaml")
