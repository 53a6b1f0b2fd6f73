"""A profile is a judge: it answers from a hidden quality, with the profile's vices, in every protocol."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.calibration.records import as_records
from calipers.calibration.series import Frame
from calipers.errors import ConfigError, InputError
from calipers.rubric import as_rubric
from calipers.study.profiles import Profile, write_profile
from calipers.study.profiles.fidelity import with_agreement
from calipers.study.profiles.figures import Figure
from calipers.study.profiles.fitting import fit_profile
from calipers.study.profiles.judge import WARNING, ProfileJudge
from calipers.study.profiles.made_groups import made_groups
from calipers.study.profiles.named import find_profile, profile_judge, shipped_names
from calipers.study.profiles.profile import Latent, Level, Provenance, ScaleUse, Subject
from calipers.types import TrajectoryGroup

GROUPS = made_groups(12, 4)


def profile(**latent: Any) -> Profile:
    numbers: dict[str, Any] = {"gain": 6.0, "group_sd": 0.1, "candidate_sd": 0.3, "order_sd": 0.1, "call_sd": 0.2}
    numbers |= {"thresholds": (-2.0, -0.7, 0.7, 2.0), "centre": 0.5, "quality_sd": 0.29}
    scale = ScaleUse("scores", tuple(Level(one / 4, 0.2) for one in range(5)))
    made = Latent(**(numbers | latent))
    return Profile("made", Subject("j", "listwise"), Provenance((), "2026-01-01", "0.2.0", 1, 1), scale, latent=made)


async def rewards(judge: Any, groups: list[TrajectoryGroup], **options: Any) -> list[list[float | None]]:
    asked = calipers.Judge.of({"judge": judge, **options})
    return [(await asked.score_group(group)).rewards for group in groups]


@pytest.mark.parametrize("kind", ["scores", "pairs", "ranks"])
@pytest.mark.parametrize("protocol", ["listwise", "pairwise", "pointwise"])
async def test_every_kind_of_profile_answers_in_every_protocol(kind: str, protocol: str) -> None:
    scales = {
        "scores": (profile().scale, (-2.0, -0.7, 0.7, 2.0)),
        "pairs": (ScaleUse("pairs", (Level(0, 0.4), Level(0.5, 0.2), Level(1, 0.4))), (-0.3, 0.3)),
        "ranks": (ScaleUse("ranks"), ()),
    }
    scale, thresholds = scales[kind]
    judge = ProfileJudge(replace(profile(thresholds=thresholds), scale=scale))
    agreeing = 0
    for group, found in zip(GROUPS, await rewards(judge, GROUPS, protocol=protocol), strict=True):
        assert None not in found
        golds = [one.gold or 0.0 for one in group.trajectories]
        best, worst = golds.index(max(golds)), golds.index(min(golds))
        agreeing += (found[best] or 0) > (found[worst] or 0)
    assert agreeing >= 10 or (kind, protocol) == ("ranks", "pointwise")  # a candidate alone has no rank


@pytest.mark.parametrize("mode", ["all", "per_criterion", "relative", "holistic"])
async def test_a_profile_checks_criteria(mode: str) -> None:
    rubric = as_rubric({"criteria": [{"id": "a", "text": "Right."}, {"id": "b", "text": "Rude.", "points": -0.5}]})
    options = {"protocol": "checklist", "rubric": rubric, "grading": {"mode": mode}}
    found = await rewards(ProfileJudge(profile()), GROUPS, **options)
    assert all(None not in one for one in found)
    assert len({one for row in found for one in row}) > 1


async def test_results_say_that_the_judge_is_simulated() -> None:
    result = await calipers.score_group(GROUPS[0], judge=ProfileJudge(profile()))
    assert WARNING in result.warnings
    assumed = replace(profile(), latent=replace(profile().latent or Latent(1, 0, 0, 0, 0), assumed=("this is so",)))
    assert await ProfileJudge(assumed).check() == ["profile made: this is so"]


async def test_equal_judges_answer_equally_and_other_seeds_otherwise() -> None:
    one, again, other = [await rewards(ProfileJudge(profile(), seed=seed), GROUPS) for seed in (0, 0, 1)]
    assert one == again != other


def test_what_decides_answers_is_in_the_judges_name_for_the_ledger() -> None:
    judges = [
        ProfileJudge(profile()),
        ProfileJudge(profile(), seed=1),
        ProfileJudge(profile(), quality="metadata:q"),
        ProfileJudge(profile(), high=2.0),
        ProfileJudge(profile(), agreement=0.3),
        ProfileJudge(profile(gain=1.0)),
    ]
    assert len({one.model for one in judges}) == len(judges)
    assert {one.endpoint for one in judges} == {"profile"}
    assert ProfileJudge(profile()).model == judges[0].model


# --- the hidden quality ----------------------------------------------------------------------------------------------


def with_members(group: TrajectoryGroup, **changes: Any) -> TrajectoryGroup:
    return replace(group, trajectories=tuple(replace(one, **changes) for one in group.trajectories))


async def reasons(judge: ProfileJudge, group: TrajectoryGroup) -> set[str | None]:
    return {one.reason for one in (await calipers.score_group(group, judge=judge)).trajectories}


def fitted_to(low: float, high: float) -> Profile:
    exact = profile(gain=20.0, group_sd=0.0, candidate_sd=0.0, order_sd=0.0, call_sd=0.0)
    return replace(exact, provenance=replace(exact.provenance, gold_range=(low, high)))


def with_golds(*golds: float) -> TrajectoryGroup:
    members = zip(GROUPS[0].trajectories, golds, strict=True)
    return replace(GROUPS[0], trajectories=tuple(replace(one, gold=gold) for one, gold in members))


async def test_gold_is_mapped_as_it_was_for_the_fit() -> None:
    wanted = await rewards(ProfileJudge(profile_of_unit()), [with_golds(0.0, 0.45, 0.55, 1.0)])
    narrow, likert = ProfileJudge(fitted_to(0.3, 0.7)), ProfileJudge(fitted_to(1.0, 5.0))
    assert await rewards(narrow, [with_golds(0.3, 0.48, 0.52, 0.7)]) == wanted
    assert await rewards(likert, [with_golds(1.0, 2.8, 3.2, 5.0)]) == wanted
    assert await rewards(likert, [with_golds(0.0, 0.45, 0.55, 1.0)]) == wanted  # partly below: a scale from 0 to 1
    assert None not in (await rewards(narrow, [with_golds(0.1, 0.5, 0.6, 0.9)]))[0]
    explicit = ProfileJudge(fitted_to(0.3, 0.7), low=0.0, high=1.0)
    assert await rewards(explicit, [with_golds(0.0, 0.45, 0.55, 1.0)]) == wanted
    (said,) = await reasons(likert, with_golds(2.0, 3.0, 6.0, 6.0))
    assert "outside 1 to 5; name its range" in (said or "")
    assert await narrow.check() == []
    (note,) = await likert.check()
    assert "gold is taken to be on the scale of its fit, 1 to 5; ?low=...&high=..." in note
    assert len({narrow.model, likert.model, explicit.model}) == 3
    relevance = ProfileJudge(fitted_to(0.0, 3.0))  # gold of 0 and 1 may be on either scale
    assert await rewards(relevance, [with_golds(0.0, 0.45, 0.55, 1.0)]) == wanted
    (said,) = await reasons(relevance, with_golds(3.0, 3.0, 2.0, 0.0))
    assert "outside 0 to 1; name its range" in (said or "")


def profile_of_unit() -> Profile:
    return fitted_to(0.0, 1.0)


async def test_quality_comes_from_gold_metadata_a_mapping_or_a_function() -> None:
    group = GROUPS[0]
    gold = {one.id: one.gold or 0.0 for one in group.trajectories}
    hidden = replace(
        group,
        trajectories=tuple(replace(one, gold=None, metadata={"q": 1 + 9 * gold[one.id]}) for one in group.trajectories),
    )
    exact = profile(gain=20.0, group_sd=0.0, candidate_sd=0.0, order_sd=0.0, call_sd=0.0)
    wanted = await rewards(ProfileJudge(exact), [group])
    assert await rewards(ProfileJudge(exact, quality="metadata:q", low=1, high=10), [hidden]) == wanted
    assert await rewards(ProfileJudge(exact, quality=gold), [hidden]) == wanted
    assert await rewards(ProfileJudge(exact, quality=lambda _, member: gold[member]), [hidden]) == wanted


async def test_criteria_may_have_a_quality_each() -> None:
    group = with_members(GROUPS[0], gold=None, metadata={"q": {"a": 1.0, "b": 0.0}})
    rubric = as_rubric({"criteria": [{"id": "a", "text": "Right."}, {"id": "b", "text": "Deep.", "points": 3}]})
    exact = profile(gain=20.0, group_sd=0.0, candidate_sd=0.0, order_sd=0.0, call_sd=0.0)
    options = {"protocol": "checklist", "rubric": rubric}
    (found,) = await rewards(ProfileJudge(exact, quality="metadata:q"), [group], **options)
    assert list(found) == [0.25] * 4


async def test_a_missing_quality_is_no_number_and_names_the_remedy() -> None:
    (said,) = await reasons(ProfileJudge(profile()), with_members(GROUPS[0], gold=None))
    assert said is not None
    assert "has no gold, from which a profile judge answers" in said
    assert "?quality=metadata:KEY" in said
    (said,) = await reasons(
        ProfileJudge(profile(), quality="metadata:q"), with_members(GROUPS[0], metadata={"q": "good"})
    )
    assert "has no metadata:q" in (said or "")


async def test_a_quality_off_its_range_names_the_range() -> None:
    (said,) = await reasons(ProfileJudge(profile()), with_members(GROUPS[0], gold=7.0))
    assert "is 7, outside 0 to 1; name its range behind the profile's name: ?low=...&high=..." in (said or "")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"quality": "gol"}, "quality='gol': write gold or metadata:KEY"),
        ({"quality": "metadata:"}, "names no key"),
        ({"low": 1.0, "high": 1.0}, "the quality's range must rise, unlike 1 to 1"),
        ({"agreement": 1.2}, "agreement must be from 0 to 1, not 1.2"),
        ({"agreement": 0.5, "quality_sd": 0.0}, "quality_sd must be above 0"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        ProfileJudge(profile(), **options)


def test_a_profile_without_gold_needs_an_agreement_and_one_without_numbers_cannot_answer() -> None:
    with pytest.raises(ConfigError, match="was fitted without gold, so its agreement with quality is unknown"):
        ProfileJudge(profile(gain=None))
    ProfileJudge(profile(gain=None), agreement=0.6)
    with pytest.raises(ConfigError, match="it has no 'latent' numbers"):
        ProfileJudge(replace(profile(), latent=None))


def test_another_agreement_keeps_what_repeated_answers_share() -> None:
    before = profile().latent
    assert before is not None
    after = with_agreement(profile(), 0.4, None)
    assert after.gain is not None
    assert before.gain is not None
    shared = (before.gain * before.quality_sd) ** 2 + before.candidate_sd**2
    assert (after.gain * before.quality_sd) ** 2 + after.candidate_sd**2 == pytest.approx(shared)
    assert after.gain * before.quality_sd == pytest.approx(0.4 * shared**0.5)
    assert with_agreement(profile(), 1.0, None).candidate_sd == pytest.approx(0.0)


# --- by name ---------------------------------------------------------------------------------------------------------


async def test_a_file_and_options_are_a_judges_name(tmp_path: Path) -> None:
    file = tmp_path / "my judge.json"
    write_profile(file, profile())
    named = await rewards(f"profile:{file}?seed=3&low=-1&high=2", GROUPS)
    assert named == await rewards(ProfileJudge(profile(), seed=3, low=-1.0, high=2.0), GROUPS)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "names no profile"),
        ("gpt-5.4-min", "did you mean gpt-5.4-mini"),
        ("nobody", "neither a file nor a shipped profile"),
        ("gpt-5.4?seed=1&seed=2", "profile option seed= is named twice"),
        ("gpt-5.4?sed=1", "profile option 'sed=1': known are quality=, low="),
        ("gpt-5.4?seed=x", "profile option seed=x: it must be a number"),
        ("gpt-5.4?seed=1.5", "profile option seed=1.5: it must be a whole number"),
        ("gpt-5.4?agreement=7", "agreement must be from 0 to 1"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        profile_judge(name)


def test_a_file_that_is_no_profile_is_refused_and_the_url_of_a_server_does_not_apply(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        find_profile(str(tmp_path / "none.json"))
    with pytest.raises(ConfigError, match="runs in this process: base_url and api_key do not apply"):
        calipers.Judge("profile:gpt-5.4", base_url="http://localhost:1/v1")
    with pytest.raises(ConfigError, match="profile: needs a file"):
        calipers.Judge("profile:")


# --- fit, run, fit again ---------------------------------------------------------------------------------------------


async def answers_of(judge: Any, groups: list[TrajectoryGroup], **options: Any) -> Profile:
    from calipers.calibration.collect import JudgeAnswers  # noqa: PLC0415

    answers = JudgeAnswers("j", options["protocol"])
    asking = calipers.Judge.of({"judge": judge, "observer": answers.observe, **options})
    async for result in asking.score_groups(groups):
        answers.record_unanswered(result)
    records = list(as_records(answers.judgments))
    return fit_profile(records, Frame.of(groups), records[0].key)


async def test_another_agreement_is_what_a_fit_finds() -> None:
    groups = made_groups(150, 6, gold="binary")
    options = {"protocol": "pointwise", "samples": 2}
    judges = [ProfileJudge(profile(centre=0.5, quality_sd=0.5), agreement=one) for one in (0.3, 0.9)]
    weak, strong = [(await answers_of(one, groups, **options)).agreement.pearson for one in judges]
    assert weak.covers(0.3, slack=0.06)
    assert (strong.value or 0) > 0.75
    assert isinstance(weak, Figure)


def test_shipped_profiles_have_names() -> None:
    assert len(shipped_names()) > 40
    assert shipped_names() == tuple(sorted(shipped_names()))
