"""A command that fails before its first question leaves no ledger, unless it is somebody's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from calipers.ledger import Ledger, Run, open_ledger
from calipers.ledger.opening import no_unused_ledger


def failing(path: Path, does: Callable[[Path], object]) -> None:
    with pytest.raises(ValueError, match="fails"):
        _fail(path, does)


def _fail(path: Path, does: Callable[[Path], object]) -> None:
    with no_unused_ledger(str(path)):
        does(path)
        raise ValueError("it fails")


def made(path: Path) -> None:
    open_ledger(path).close()


def made_with_a_run(path: Path) -> None:
    ledger = open_ledger(path)
    Run(ledger, {"judges": []}, version="0")
    ledger.close()


def test_the_file_of_a_failed_command_is_removed(tmp_path: Path):
    failing(tmp_path / "l.db", made)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_in_which_something_was_recorded_stays(tmp_path: Path):
    failing(tmp_path / "l.db", made_with_a_run)
    assert (tmp_path / "l.db").exists()


def test_a_ledger_that_was_there_stays(tmp_path: Path):
    made(tmp_path / "l.db")
    failing(tmp_path / "l.db", made)
    assert (tmp_path / "l.db").exists()


def test_a_ledger_that_another_has_open_stays(tmp_path: Path):
    path, others = tmp_path / "l.db", list[Ledger]()

    def made_by_two(place: Path) -> None:
        others.append(Ledger(place))
        made(place)

    failing(path, made_by_two)
    Run(others[0], {"judges": []}, version="0")
    others[0].close()
    assert path.exists()


def test_a_command_that_succeeds_or_has_no_file_is_left_alone(tmp_path: Path):
    with no_unused_ledger(str(tmp_path / "l.db")):
        made(tmp_path / "l.db")
    with no_unused_ledger(None):
        pass
    assert (tmp_path / "l.db").exists()
