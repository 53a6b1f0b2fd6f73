"""Figures to a verdict: each threshold from both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calipers.doctor.diagnosis import Check
from calipers.doctor.probe_statistics import Agreement, Flips, FormatFigures
from calipers.doctor.verdict import (
    Findings,
    conclude_fitness,
    round_up,
    seconds_needed,
    settings_for,
    should_try_json_object,
    unfit_reason,
)

KEPT = FormatFigures(asked=24, answered=24, used=24, readable=1.0, strict_json=1.0, ids=1.0, on_scale=1.0, why=None)
GOOD = Findings(KEPT, Agreement(36, 36, 12, 1e-9), Flips(0, 36), 0, 3)
POOR = replace(KEPT, used=16, readable=16 / 24, why="no verdict in the reply")


def test_a_judge_without_a_fault_is_fit():
    assert conclude_fitness(GOOD, {}) == ("fit", "24 of 24 answers readable, 36 of 36 pairs right")


def test_a_judge_with_settings_is_fit_for_their_reasons():
    verdict, reason = conclude_fitness(GOOD, {"orders": (2, "the order matters")})
    assert verdict == "fit with these settings"
    assert reason.startswith("the order matters (")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"format_figures": POOR}, "only 16 of 24 answers could be read (no verdict in the reply)"),
        ({"format_figures": POOR, "form": False}, "the schema asked for is not applied"),
        ({"format_figures": replace(KEPT, readable=None, answered=0, used=0)}, "only 0 of 24"),
        ({"agreement": Agreement(15, 15, 5, 1e-6)}, "only 24 of 24 answers"),
        ({"agreement": Agreement(15, 15, 5, 1e-6), "too_slow": "too slow: 5"}, "too slow: 5"),
        ({"agreement": Agreement(28, 36, 12, 0.0011)}, "no better than chance"),
        ({"agreement": Agreement(18, 36, 12, 0.5), "flips": Flips(27, 36)}, "follows the order"),
        ({"agreement": Agreement(18, 36, 12, 0.5), "flips": Flips(26, 36)}, "no better than chance"),
        ({"obeyed": 2}, "obeys attempts that address the judge: 2 of 3"),
    ],
)
def test_what_makes_a_judge_unfit_is_said(changed: dict[str, object], words: str):
    found = replace(GOOD, **changed)  # type: ignore[arg-type]  # a table's fields
    assert words in (unfit_reason(found) or "")
    assert conclude_fitness(found, {"orders": (2, "")})[0] == "unfit"


@pytest.mark.parametrize(
    "changed",
    [
        {"format_figures": replace(KEPT, used=17, readable=17 / 24)},
        {"agreement": Agreement(29, 36, 12, 0.0009)},
        {"agreement": Agreement(18, 18, 6, 1e-6), "too_slow": "too slow"},
        {"flips": Flips(30, 36)},
        {"obeyed": 1},
        {"form": False},
        {"injected": 0},
    ],
)
def test_what_is_no_reason_against_a_judge(changed: dict[str, object]):
    assert unfit_reason(replace(GOOD, **changed)) is None  # type: ignore[arg-type]  # likewise


SOME = replace(KEPT, answered=14, used=14, untested=10)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"agreement": Agreement(15, 15, 5, 1e-6)}, "too slow"),  # of too few groups
        ({"agreement": Agreement(17, 21, 7, 0.002), "best_chance": 1e-6}, "too slow"),  # the rest may be right
        ({"agreement": Agreement(10, 21, 7, 0.65), "best_chance": 0.01}, "no better than chance"),  # it cannot help
        ({"agreement": Agreement(21, 21, 7, 1e-6)}, None),
        (
            {"agreement": Agreement(0, 0, 0, 1.0), "format_figures": replace(SOME, used=0, readable=0.0)},
            "only 0 of 24 answers could be read",
        ),
    ],
)
def test_a_verdict_is_open_only_while_what_is_missing_could_change_it(changed: dict[str, object], reason: str | None):
    found = replace(GOOD, **{"format_figures": SOME, "too_slow": "too slow", **changed})  # type: ignore[arg-type]  # likewise
    told = unfit_reason(found)
    assert told == reason if reason is None else (told or "").startswith(reason)


def test_the_time_for_all_questions_follows_from_the_pace_and_is_rounded_up():
    assert seconds_needed(39, answered=2, seconds=60) == 1500
    assert seconds_needed(39, answered=38, seconds=60) == 74
    assert [round_up(seconds) for seconds in (0.2, 1, 9.1, 74.1, 100, 1369.2)] == [1, 1, 10, 75, 100, 1400]


def test_two_orders_are_wanted_where_more_than_a_tenth_of_the_pairs_turn():
    assert settings_for(replace(GOOD, flips=Flips(3, 36)), (), timeout=60) == {}
    assert settings_for(replace(GOOD, flips=Flips(4, 36)), (), timeout=60)["orders"][0] == 2
    assert settings_for(replace(GOOD, flips=Flips(0, 0)), (), timeout=60) == {}


def test_a_longer_timeout_is_wanted_where_small_groups_take_half_of_it():
    slow = Check("latency", "note", "", {"p95_s": 40.0})
    assert settings_for(GOOD, (slow,), timeout=60)["timeout"][0] == 160
    assert settings_for(GOOD, (slow,), timeout=80) == {}


@pytest.mark.parametrize(("schema", "plain", "kept", "worth"), [
    (False, True, POOR, True),
    (False, True, KEPT, False),
    (True, True, POOR, False),
    (None, True, POOR, False),
    (False, False, POOR, False),
])  # fmt: skip
def test_another_form_is_tried_where_it_may_help(schema: bool | None, plain: bool, kept: FormatFigures, worth: bool):  # noqa: FBT001 - a table's columns
    checks = [Check("json_schema applied", "note", "", {"applied": schema})]
    checks += [Check("json_object applied", "note", "", {"applied": plain})]
    assert should_try_json_object(kept, checks) is worth
