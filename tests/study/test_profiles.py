"""Profiles: what is measured of a judge is what it does, its profile does it again, and files hold no surprise."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.calibration.collect import JudgeAnswers, collect_judgments
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.study.profiles.measuring import measure_profile
from calipers.study.profiles.named import ProfileJudge, profile_judge_of, vices_of, with_fidelity
from calipers.study.profiles.profile import (
    Profile,
    parse_profile,
    profile_as_text,
    read_profile,
    shipped_names,
    shipped_profile,
)
from calipers.testing import Flaky, LengthBias, Noise, PositionBias, Severity, SimulatedJudge, Vice
from calipers.types import Trajectory, TrajectoryGroup

PLAIN = Profile("plain", "j", "listwise", 10, 0.5, 0.5, 0.25, 0.5, error=0.1, noise=0.05)


def groups(count: int = 150, size: int = 4) -> list[TrajectoryGroup]:
    """Groups with one right answer, and answers of different lengths."""
    made = []
    for number in range(count):
        texts = [f"{number} {one} " * (1 + one * number % 5) for one in range(size)]
        members = [
            Trajectory(str(one), ({"role": "assistant", "content": text},), gold=float(one == number % size))
            for one, text in enumerate(texts)
        ]
        made.append(TrajectoryGroup(f"g{number}", tuple(members)))
    return made


async def judgments_of(judge: object, asked: list[TrajectoryGroup], **options: Any) -> list[dict[str, Any]]:
    """What a judge answers, as rows of a judgments file."""
    answers = JudgeAnswers("simulated", options["protocol"])
    async with calipers.Judge.of({"judge": judge, "watchers": [answers.observe], **options}) as made:
        async for result in made.score_groups(asked):
            answers.record_unanswered(result)
    return answers.judgments


def unlike(found: Profile, wanted: dict[str, tuple[float, float]]) -> dict[str, float | None]:
    """The figures of a profile that are off by more than is allowed: {name: (value, by)}."""
    figures = {name: getattr(found, name) for name in wanted}
    return {name: one for name, one in figures.items() if one is None or abs(one - wanted[name][0]) > wanted[name][1]}


async def test_a_measured_profile_has_the_vices_of_its_judge() -> None:
    """One judge has them all: gain, level, lasting error, noise, position bias, preference for length, failures."""
    asked = groups(300)
    gold = {(group.group_id, one.id): one.gold or 0.0 for group in asked for one in group.trajectories}
    vices: tuple[Vice, ...] = (
        Severity(0.05, 0.4), Noise(0.08, per="candidate"), LengthBias(0.03), PositionBias(0.12), Noise(0.04),
        Flaky(refused=0.1),
    )  # fmt: skip
    judge = SimulatedJudge(lambda group, one: gold[group, one], *vices, seed=1)
    found = measure_profile(asked, await judgments_of(judge, asked, protocol="listwise", orders=2, samples=2))
    assert unlike(found, {
        "gain": (0.4, 0.03), "level": (0.45, 0.02), "error": (0.08, 0.012), "noise": (0.04, 0.005),
        "per_doubling": (0.03, 0.01), "failures": (0.1, 0.03), "quality_mean": (0.25, 1e-9), "quality_sd": (0.5, 1e-9),
    }) == {}  # fmt: skip
    assert found.positions[0] - found.positions[-1] == pytest.approx(0.12, abs=0.02)


@pytest.mark.parametrize(("protocol", "orders"), [("pointwise", 1), ("listwise", 2), ("pairwise", 2)])
async def test_a_profiles_judge_shows_the_profile_again(protocol: str, orders: int) -> None:
    asked = groups(250, size=2 if protocol == "pairwise" else 4)
    first = replace(PLAIN, positions=() if protocol == "pointwise" else (0.04, -0.04), per_doubling=0.02)
    judge = ProfileJudge(first, seed=3)
    again = measure_profile(asked, await judgments_of(judge, asked, protocol=protocol, orders=orders, samples=2))
    allowed = {"gain": 0.05, "error": 0.02, "noise": 0.02, "per_doubling": 0.015}
    assert unlike(again, {name: (getattr(first, name), by) for name, by in allowed.items()}) == {}
    if first.positions:
        assert again.positions[0] == pytest.approx(0.04, abs=0.015)


async def test_a_verdict_of_a_pair_shows_ratios_only() -> None:
    rows = [
        {"group_id": f"g{n}", "judge": "j", "mode": "pairwise", "order": order, "parsed": {"winner": order[0]}}
        for n in range(30)
        for order in (["0", "1"], ["1", "0"])
    ]
    found = measure_profile(groups(30, size=2), rows)
    assert found.positions == (0.125, -0.125), "the first wins always, which is a quarter of the scale"
    assert found.noise == found.error == 0


@given(st.floats(0, 0.9), st.floats(0.01, 0.3), st.floats(0, 0.2))
def test_a_fidelity_is_reached_whatever_the_noise(fidelity: float, error: float, noise: float) -> None:
    profile = replace(PLAIN, error=error, noise=noise)
    lasting = 0.25**2 + error**2
    if fidelity > math.sqrt(lasting / (lasting + noise**2)) - 1e-9:
        with pytest.raises(ConfigError, match="the most possible"):
            with_fidelity(profile, fidelity + 1e-6)
        return
    found = with_fidelity(profile, fidelity)
    signal = (found.gain or 0) * found.quality_sd
    assert math.isclose(signal / math.sqrt(signal**2 + found.error**2 + noise**2), fidelity, abs_tol=1e-9)
    before, after = ((one.gain or 0) ** 2 * one.quality_sd**2 + one.error**2 for one in (profile, found))
    assert math.isclose(before, after), "what lasts is shared out anew"


async def test_options_behind_the_name_choose_seed_and_quality() -> None:
    group = {"trajectories": [
        {"id": name, "messages": [{"role": "assistant", "content": f"answer {name}"}], "metadata": {"stars": stars}}
        for stars, name in enumerate("abcd")
    ]}  # fmt: skip
    name = "profile:gpt-5.4?quality=metadata:stars&low=0&high=3"
    first = await calipers.score_group(group, judge=name)
    assert first.status == "scored"
    assert any("simulated judge with a profile" in one for one in first.warnings)
    assert first.rewards == (await calipers.score_group(group, judge=name)).rewards
    assert first.rewards != (await calipers.score_group(group, judge=f"{name}&seed=1")).rewards
    without = await calipers.score_group(group, judge="profile:gpt-5.4")
    assert {one.status for one in without.trajectories} == {"failed"}
    assert "needs its gold" in str(without.trajectories[0].reason)


def test_what_cannot_be_meant_is_refused_with_the_remedy(tmp_path: Path) -> None:
    blind = tmp_path / "blind.json"
    blind.write_text(profile_as_text(replace(PLAIN, gain=None)), encoding="utf-8")
    refused = {
        "": "needs a file",
        "?seed=1": "names no profile",
        "gpt-5.4-mni": "did you mean gpt-5.4-mini",
        "none.json": "no such file",
        "gpt-5.4?sed=1": "known are",
        "gpt-5.4?seed=1&seed=2": "each once",
        "gpt-5.4?seed=x": "must be a number",
        "gpt-5.4?low=1&high=0": "must be lower",
        "gpt-5.4?quality=stars": "metadata:KEY",
        "gpt-5.4?fidelity=0.999": "the most possible",
        str(blind): "fidelity=0.6",
    }
    for argument, named in refused.items():
        with pytest.raises(CalipersError) as error:
            calipers.Judge(f"profile:{argument}")
        assert named in str(error.value), argument
    assert calipers.Judge(f"profile:{blind}?fidelity=0.6") is not None
    with pytest.raises(ConfigError, match="follows from the study"):
        profile_judge_of("gpt-5.4?seed=1", lambda _group, _id: 1.0, seed=0)


def test_measuring_names_what_is_missing() -> None:
    made = groups(30)
    about = {"group_id": "g1", "judge": "j", "mode": "pointwise", "order": ["0", "1"]}
    row = {**about, "parsed": {"scores": {"0": 1, "1": 2}}}
    for rows, named in (
        ([row], "scale"),
        ([row | {"group_id": "other", "scale": [0, 2]}], "about one of the groups"),
        ([row | {"scale": [0, 2]}, row | {"scale": [0, 2], "judge": "k"}], "k, pointwise"),
    ):
        with pytest.raises(CalipersError, match=named):
            measure_profile(made, rows)
    chosen = measure_profile(made, [row | {"scale": [0, 2]}, row | {"scale": [0, 2], "judge": "k"}], answers_of="k")
    assert chosen.judge == "k"


# --- files -----------------------------------------------------------------------------------------------------------


def damaged() -> Iterator[dict[str, Any]]:
    """A profile's document with a wrong value at each key, an unknown key, and without a key."""
    document = json.loads(profile_as_text(PLAIN))
    for name in document:
        for wrong in (True, [], ["x"], {"a": 1}, "two\nlines", 10**400, float("nan"), -11, "x" * 3000):
            if name != "positions" or wrong != []:
                yield document | {name: wrong}
    for name in ("name", "judge", "gain", "calipers_profile"):
        yield {key: value for key, value in document.items() if key != name}
    yield document | {"base_url": "http://example.com"}


def test_a_profile_is_read_as_it_was_written_and_a_damaged_one_named(tmp_path: Path) -> None:
    for document in damaged():
        with pytest.raises(InputError, match=r"^p\.json: .*write profiles with"):
            parse_profile(json.dumps(document).encode(), source="p.json")
    for data in (b"", b"[1]", b"\xff", b"[" * 10**5, b" " * (2**20 + 1)):
        with pytest.raises(InputError, match=r"^p\.json: "):
            parse_profile(data, source="p.json")
    os.mkfifo(tmp_path / "pipe.json")  # reading it would wait for ever
    for path in (tmp_path / "pipe.json", Path("/dev/zero"), tmp_path):
        with pytest.raises(CalipersError):
            calipers.Judge(f"profile:{path}")
    for one in fields(Profile):  # numbers and shown texts: a stranger's profile can name no address and no file
        assert str(one.type) in {"str", "int", "float", "float | None", "tuple[float, ...]"}
    profile = replace(PLAIN, positions=(0.1, 0.0, -0.1), note="from somewhere")
    (tmp_path / "p.json").write_text(profile_as_text(profile), encoding="utf-8")
    assert read_profile(tmp_path / "p.json") == profile


def test_every_shipped_profile_can_judge() -> None:
    assert 1 <= len(shipped_names()) <= 8
    for name in shipped_names():
        profile = shipped_profile(name)
        assert profile.name == name
        vices_of(profile if profile.gain is not None else with_fidelity(profile, 0.2))


async def test_a_shipped_judge_has_its_fidelity_on_groups_like_those_it_was_measured_on() -> None:
    asked = groups(300)
    for name in ("gpt-5.4", "gpt-5.4-nano"):
        answers = await collect_judgments(asked, f"profile:{name}", protocol="pointwise", orders=1)
        fidelity = shipped_profile(name).fidelity or 0
        assert unlike(measure_profile(asked, answers.judgments), {"fidelity": (fidelity, 0.06)}) == {}
