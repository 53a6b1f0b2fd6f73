"""The profiles that come with calipers: readable, usable as judges, found again by a second fit, and from the data."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.study.profiles.comparing import compare_profiles
from calipers.study.profiles.files import profile_as_text
from calipers.study.profiles.judge import ProfileJudge
from calipers.study.profiles.made_groups import made_groups
from calipers.study.profiles.named import shipped_names, shipped_profile

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("CALIPERS_DATA") or ROOT.parent / "shared" / "data")
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "shipped_profiles.py"))
GROUPS = made_groups(3, 4)

with_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the recorded data is not at {DATA} (set CALIPERS_DATA)")


def test_every_profile_of_the_script_is_shipped_and_no_other() -> None:
    assert set(shipped_names()) == {*SCRIPT["RECORDED"], *SCRIPT["MADE"]}


@pytest.mark.parametrize("name", shipped_names())
async def test_a_shipped_profile_says_where_it_comes_from_and_is_a_judge(name: str) -> None:
    profile = shipped_profile(name)
    assert profile.name == name
    assert profile.provenance.note
    if name in SCRIPT["RECORDED"]:
        assert len(profile.provenance.sources) == 2
        assert all(len(one.sha256) == 64 for one in profile.provenance.sources)
    else:
        assert profile.provenance.note.startswith("simulated")
    assert len(profile_as_text(profile)) < 16_000
    assert profile.latent is not None
    more = "" if profile.latent.gain is not None else "?agreement=0.6"
    protocol = {"pointwise": "pointwise", "pairwise": "pairwise"}.get(profile.subject.mode, "listwise")
    judge = calipers.Judge(f"profile:{name}{more}", protocol=protocol)
    statuses = {(await judge.score_group(group)).status for group in GROUPS}
    assert statuses <= {"scored", "partial", "abstained"}
    assert "scored" in statuses


@pytest.mark.parametrize(
    ("name", "figure", "truth"),
    [
        ("vice-noise", "repeatability.noise", 0.15),
        ("vice-first", "position.slope", -0.2),
        ("vice-last", "position.slope", 0.2),
        ("vice-ends", "position.first", 0.2),
        ("vice-ends", "position.last", 0.2),
        ("vice-ends", "position.slope", 0.0),
        ("vice-length", "preferences.length.per_unit", 0.05),
        ("vice-markdown", "preferences.markdown.per_unit", 0.05),
        ("vice-confidence", "preferences.confidence.per_unit", 0.05),
        ("vice-flattery", "preferences.flattery.per_unit", 0.1),
        ("vice-mild", "agreement.per_quality", 0.24),
        ("vice-none", "agreement.per_quality", 0.6),
        ("vice-none", "preferences.length.per_unit", 0.0),
        ("vice-none", "position.slope", 0.0),
    ],
)
def test_profiles_of_known_vices_hold_the_truth(name: str, figure: str, truth: float) -> None:
    profile = shipped_profile(name)
    found: Any = profile
    for part in figure.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    assert found.covers(truth, slack=0.006), found  # scores are clipped at 0 and 1 here and there, and whole numbers


def test_vices_that_were_not_given_are_not_found() -> None:
    for name in ("vice-none", "vice-noise", "vice-length"):
        latent = shipped_profile(name).latent
        assert latent is not None
        assert not any((latent.slope, latent.first, latent.last, latent.injected)), name
        # Long answers have more of everything, so a preference for length moves the covariances of other features.
        others = [abs(value) for feature, value in latent.per_unit.items() if feature != "length"]
        assert max(others, default=0.0) <= 0.03 * latent.per_unit.get("length", 0.0), name


@pytest.mark.timeout(300)  # twenty seconds of CPU, which is minutes on a busy machine
@pytest.mark.parametrize("name", ["vice-first", "vice-flattery", "vice-refusals", "vice-coarse"])
def test_a_second_fit_finds_the_numbers_of_a_simulated_judge(name: str) -> None:
    """Fit, run, fit again: nearly all figures of the first profile are found by the second one."""
    profile = shipped_profile(name)
    frame = calipers.calibration.series.Frame.of(made_groups(100, attacked=SCRIPT["MADE"][name].attacked))
    looped = SCRIPT["loop"](profile, frame)
    assert len(looped) > 20
    missed = [str(one) for one in looped if not one.found]
    assert len(missed) <= 0.1 * len(looped), missed


@with_data
@pytest.mark.data
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name",
    ["llmbar-llama-2", "posbias-claude-3-sonnet-20240229", "hanna-chatgpt", "openqa-davinci-003", "rank-vicuna-7b"],
)
def test_a_second_fit_finds_the_numbers_of_a_recorded_judge(name: str) -> None:
    """The first profile is fitted now, so that what is shipped is what the data gives."""
    profile, frame = SCRIPT["fitted"](name)
    shipped = shipped_profile(name)
    assert [one.sha256 for one in profile.provenance.sources] == [one.sha256 for one in shipped.provenance.sources]
    for one in compare_profiles(profile, shipped):
        assert one.first.value == pytest.approx(one.second.value, rel=1e-3, abs=1e-4), one.name
    looped = SCRIPT["loop"](profile, frame)
    missed = [str(one) for one in looped if not one.found]
    # Real judges are not all normal: the second fit of decided pairs has a smaller spread, for example.
    assert len(missed) <= 0.2 * len(looped), missed


async def test_two_runs_of_one_profile_give_equal_profiles() -> None:
    groups = made_groups(20, 4)
    judges = [ProfileJudge(shipped_profile("vice-first"), seed=4) for _ in range(2)]
    results = [[(await calipers.score_group(group, judge=judge)).rewards for group in groups] for judge in judges]
    assert results[0] == results[1]
    same = shipped_profile("vice-first")
    assert all(one.found for one in compare_profiles(same, same))


def test_the_table_in_the_docs_is_that_of_the_profiles() -> None:
    page = (ROOT / "docs" / "profiles-shipped.md").read_text(encoding="utf-8")
    for row in SCRIPT["table"]():
        assert row in page, "write docs/profiles-shipped.md again: python scripts/shipped_profiles.py --table"
