"""nltk's parameters are taken where they are installed, whole and unchanged, and from nowhere else."""

import sys
from pathlib import Path

import pytest

from calipers.verifiers.ifeval import punkt

NAMES = ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab")


def installed() -> Path:
    """The real files, in llama-index-core's wheel or in nltk's data."""
    for root in punkt._data_folders():
        folder = root / "tokenizers" / "punkt_tab" / "english"
        if all((folder / name).is_file() for name in NAMES):
            return folder
    pytest.skip("nltk's Punkt parameters are not installed: pip install --no-deps llama-index-core")


def test_a_folder_without_the_files_gives_nothing(tmp_path: Path) -> None:
    assert punkt.read_parameters(tmp_path) is None


def test_other_files_of_the_same_names_are_not_taken(tmp_path: Path) -> None:
    """A retrained model would give other verdicts without saying so."""
    for name in NAMES:
        (tmp_path / name).write_text("dr\n", encoding="utf-8")
    assert punkt.read_parameters(tmp_path) is None


def test_the_real_files_are_read_whole() -> None:
    found = punkt.read_parameters(installed())
    assert found is not None
    assert found.name == "punkt"
    assert {"dr", "u.s"} <= found.abbreviations
    assert ("##number##", "international") in found.collocations
    assert len(found.written) > 20_000


def test_line_ends_of_another_system_change_nothing(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).write_bytes((installed() / name).read_bytes().replace(b"\n", b"\r\n"))
    assert punkt.read_parameters(tmp_path) == punkt.read_parameters(installed())


def test_nltk_data_is_looked_for_where_nltk_would_and_first_where_its_variable_points(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    roots = list(punkt._data_folders())
    assert roots[0] == tmp_path
    assert Path(sys.prefix) / "nltk_data" in roots
