"""Who answers behind an endpoint: known once, told once when it changes, remembered for later runs."""

from __future__ import annotations

import json

from calipers.backends.negotiation.negotiated import Versions
from calipers.types import Completion


def by(model: str | None, version: str | None = None) -> Completion:
    return Completion("{}", model=model, fingerprint=version)


def state(versions: Versions) -> tuple[str | None, bool]:
    return versions.unknown, bool(versions._changes)


def test_the_first_to_answer_is_unknown_and_no_change() -> None:
    versions = Versions()
    assert (versions.unknown, versions.learned()) == (None, {})
    assert versions.note_answer(by("m", "v1")) is False
    assert state(versions) == ("m (v1)", False)
    versions.store_findings("m (v1)", {"json_schema": True})
    assert versions.unknown is None


def test_another_model_or_version_in_its_place_is_told_once_and_unknown_again() -> None:
    versions = Versions()
    versions.note_answer(by("m", "v1"))
    versions.store_findings("m (v1)", {"json_schema": True})
    assert versions.note_answer(by("m", "v2")) is True
    assert versions.unknown == "m (v2)"
    assert versions.changes() == [("m (v1)", "m (v2)")]
    assert versions.changes() == []
    assert versions.note_answer(by("m", "v1")) is False  # two that take turns are both known by now
    assert state(versions) == (None, False)


def test_a_later_run_takes_it_up_and_sees_the_change_between_runs() -> None:
    first = Versions()
    first.note_answer(by("m"))
    first.store_findings("m", {"json_schema": False})
    known = json.loads(json.dumps(first.learned()))

    same, changed = Versions(), Versions()
    for versions in (same, changed):
        versions.learn(known)
        assert state(versions) == (None, False)
    assert same.note_answer(by("m")) is False
    assert same.unknown is None
    assert changed.note_answer(by("n")) is True
    assert changed.changes() == [("m", "n")]


def test_a_server_that_answers_under_ever_new_names_does_not_fill_the_ledger() -> None:
    versions = Versions()
    for number in range(100):
        versions.note_answer(by(f"m{number}"))
    kept = list(versions.learned()["servers"])
    assert len(kept) == 8
    assert kept[-1] == "m99"


def test_a_server_that_does_not_say_who_it_is_is_one_and_the_same() -> None:
    versions = Versions()
    assert [versions.note_answer(by(None)) for _ in range(3)] == [False, False, False]
    versions.store_findings("", {"json_schema": True})
    assert versions.unknown is None
