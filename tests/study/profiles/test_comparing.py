"""Two profiles compared figure by figure."""

from dataclasses import replace

from calipers.study.profiles.comparing import Comparison, compare_profiles
from calipers.study.profiles.figures import Figure, untold
from calipers.study.profiles.profile import (
    NoiseAt,
    Positions,
    Preference,
    Profile,
    Provenance,
    Repeatability,
    ScaleUse,
    Subject,
)

PLAIN = Profile("p", Subject("j", "listwise"), Provenance((), "2026-01-01", "0.2.0", 1, 1), ScaleUse("scores"))


def test_a_value_is_found_in_either_interval() -> None:
    narrow, wide = Figure(0.5, 0.49, 0.51), Figure(0.6, 0.45, 0.75)
    assert Comparison("x", narrow, wide).found
    assert Comparison("x", wide, narrow).found
    assert not Comparison("x", narrow, Figure(0.6, 0.55, 0.65)).found
    assert Comparison("x", Figure(0.0, 0.0, 0.0), Figure(0.001)).found
    assert not Comparison("x", untold("why"), narrow).found


def test_only_what_both_measured_is_compared_by_name() -> None:
    one = replace(
        PLAIN,
        repeatability=Repeatability(noise=Figure(0.1), by_temperature=(NoiseAt(1.0, Figure(0.1)),)),
        position=Positions((Figure(0.2), Figure(-0.2))),
        preferences={"length": Preference(Figure(0.3))},
        injection=Figure(1.0),
    )
    other = replace(one, injection=untold("not probed"), position=Positions((Figure(0.2),)))
    found = {comparison.name: comparison.found for comparison in compare_profiles(one, other)}
    assert found == {
        "repeatability.noise": True,
        "repeatability.by_temperature[0].noise": True,
        "position.curve[0]": True,
        "preferences.length.per_unit": True,
    }


def test_a_comparison_is_readable() -> None:
    found = Comparison("noise", Figure(0.5, 0.4, 0.6), untold("why"))
    assert str(found) == "noise: 0.5000 (0.4000 to 0.6000), then unknown"
