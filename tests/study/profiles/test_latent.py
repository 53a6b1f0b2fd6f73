"""The numbers behind a simulated judge: the model's expectations, and what is solved from figures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from calipers.calibration.arrays import Array
from calipers.study.profiles.answers import tabulate
from calipers.study.profiles.failing import failure_odds
from calipers.study.profiles.fitting import fit_profile
from calipers.study.profiles.movers import Movers, binned, movers
from calipers.study.profiles.pair_moments import covariance_in_groups, opinion_tally
from calipers.study.profiles.probit import Errors, Opinions, Probit, normal_cdf, normal_nodes, with_shares
from calipers.study.profiles.profile import Latent, Profile
from calipers.study.profiles.simulated_lists import Lists
from drawn_answers import Drawn

LEVELS = np.array([0.0, 0.25, 0.5, 1.0])
SHARES = np.array([0.1, 0.4, 0.3, 0.2])
OPINIONS = Opinions(np.array([-0.72, 0.48]), np.array([-0.6, 0.4]), np.array([0.4, 0.6]))
ERRORS = Errors(log_spread=0.6, gain_sd=0.7).within(group=0.25, order=0.1, call=0.15)


def drawn(model: Probit, groups: int, seed: int) -> tuple[Array, Array, Array]:
    """Qualities (1: the better opinion) of four members a group, and two calls' scores in one order, by simulation."""
    draw = np.random.default_rng(seed)
    shape = (groups, 4)
    better = (draw.random(shape) < model.opinions.weights[1]).astype(np.int64)
    errors = model.errors
    s = np.exp(errors.log_spread * draw.normal(size=(groups, 1)) - errors.log_spread**2 / 2)
    z = errors.gain_sd * draw.normal(size=(groups, 1))
    centre = model.opinions.means[better] + z * model.opinions.loads[better]
    shared = s * (centre + math.sqrt(errors.candidate) * draw.normal(size=shape))
    shared = shared + math.sqrt(errors.group) * draw.normal(size=(groups, 1))
    shared = shared + math.sqrt(errors.order) * draw.normal(size=shape)
    calls = [shared + math.sqrt(errors.call) * draw.normal(size=shape) for _ in range(2)]
    one, other = (model.levels[np.searchsorted(model.thresholds, call)] for call in calls)
    return better.astype(float), one, other


def test_the_normal_distribution_function_is_right_to_1e_7() -> None:
    x = np.linspace(-8, 8, 2001)
    exact = [(1 + math.erf(value / math.sqrt(2))) / 2 for value in x]
    assert np.abs(normal_cdf(x) - exact).max() < 1e-7


@pytest.mark.parametrize("count", [361, 121, 61])
def test_nodes_integrate_powers_of_a_normal(count: int) -> None:
    nodes, weights = normal_nodes(count)
    assert [float(weights @ nodes**power) for power in (1, 2, 4)] == pytest.approx([0, 1, 3], abs=1e-5)


@pytest.mark.parametrize("errors", [ERRORS, Errors().within(group=0.3, order=0.0, call=0.2)])
def test_the_models_moments_are_those_of_its_simulation(errors: Errors) -> None:
    model = with_shares(LEVELS, SHARES, OPINIONS, errors)
    better, one, other = drawn(model, 60_000, seed=1)
    assert [(one == level).mean() for level in LEVELS] == pytest.approx(list(SHARES), abs=0.01)
    noise = ((one - other) ** 2).mean() / 2
    assert model.mean_square() - model.shared_square(errors.call) == pytest.approx(noise, rel=0.03)
    gap = one[better == 1].mean() - one[better == 0].mean()
    expected = model.expected_score(OPINIONS)
    assert expected[1] - expected[0] == pytest.approx(gap, abs=0.01)


def test_moments_of_two_members_are_those_of_the_simulation() -> None:
    model = with_shares(LEVELS, SHARES, OPINIONS, ERRORS)
    better, one, _ = drawn(model, 60_000, seed=2)
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    columns = movers_of(better)
    tally = opinion_tally(columns, np.array([1.2]))  # effects that give the opinions of the model
    assert tally.opinions.means == pytest.approx(OPINIONS.means, abs=0.02)
    product = np.mean([(one[:, a] * one[:, b]).mean() for a, b in pairs])
    assert covariance_in_groups(model, tally, ERRORS.group) == pytest.approx(product - one.mean() ** 2, abs=0.003)


def test_moments_of_drawn_lists_are_those_of_the_simulation() -> None:
    model = with_shares(LEVELS, SHARES, OPINIONS, ERRORS)
    better, one, other = drawn(model, 60_000, seed=2)
    lists, effects = Lists(movers_of(better[:15_000])), np.array([1.2])
    scores = lists.scores(model, effects)
    tied = np.mean([(one[:, a] == one[:, b]).mean() for a in range(4) for b in range(a)])
    assert lists.ties(scores) == pytest.approx(tied, abs=0.01)
    known = [(x, q) for x, q in zip(one, better, strict=True) if np.ptp(q) > 0]
    within = [np.corrcoef(x, q)[0, 1] if np.ptp(x) > 0 else 0.0 for x, q in known]
    assert lists.pearson(scores) == pytest.approx(np.mean(within), abs=0.01)
    again = lists.scores(model, effects, call="again")
    assert ((scores - again) ** 2).mean() / 2 == pytest.approx(((one - other) ** 2).mean() / 2, rel=0.05)


def movers_of(better: Array) -> Movers:
    quality = better.ravel() - better.mean()
    list_of = np.repeat(np.arange(len(better)), better.shape[1])
    return Movers(("quality",), quality[:, None], quality[:, None], quality, list_of)


def test_thresholds_rise_and_an_absent_level_has_no_width() -> None:
    model = with_shares(LEVELS, np.array([0.5, 0.0, 0.5, 0.0]), OPINIONS, Errors())
    assert (np.diff(model.thresholds) >= 0).all()
    assert model.thresholds[0] == pytest.approx(model.thresholds[1])


def test_bins_stand_for_all_values() -> None:
    values = np.random.default_rng(0).normal(size=5000)
    found, number = binned(values, 2 * values, 10)
    assert len(found.means) == 10
    assert found.weights == pytest.approx([0.1] * 10, abs=0.01)
    assert found.loads == pytest.approx(2 * found.means)
    assert np.abs(found.means[number] - values).mean() < 0.3
    exact, places = binned(np.array([1.0, 0.0, 1.0]), np.zeros(3), 10)
    assert (list(exact.means), list(places)) == ([0.0, 1.0], [1, 0, 1])


@pytest.fixture(scope="module")
def scored() -> Profile:
    records, frame = Drawn(groups=400, size=5, binary=True, noise=0.06, candidate=0.12, gain=0.3, steps=10).records(4)
    return fit_profile(records, frame, records[0].key)


def latent_of(profile: Profile) -> Latent:
    assert profile.latent is not None
    return profile.latent


def test_solved_numbers_have_the_proportions_of_the_judge(scored: Profile) -> None:
    """Opinions have units of their own, so that only ratios to the candidate's error are known: 0.3, 0.06 and 0.12."""
    latent = latent_of(scored)
    assert (latent.gain or 0) / latent.candidate_sd == pytest.approx(0.3 / 0.12, rel=0.1)
    assert latent.call_sd / latent.candidate_sd == pytest.approx(0.06 / 0.12, rel=0.15)
    assert latent.group_sd / latent.candidate_sd < 0.4
    assert len(latent.thresholds) == len(scored.scale.levels) - 1
    assert latent.assumed == ()


def test_ties_are_among_what_is_solved(scored: Profile) -> None:
    """A judge that sees much difference in some groups and little in others ties more than a normal one."""
    records, frame = Drawn(groups=400, size=5, binary=True, repeats=2).records(7)
    factor = dict(zip(frame.row, np.exp(0.8 * np.random.default_rng(1).normal(size=400) - 0.32), strict=True))
    uneven = [
        replace(
            one, scores={name: round(0.5 + factor[one.group_id] * (v - 0.5) / 2, 1) for name, v in one.scores.items()}
        )
        for one in records
        if one.scores
    ]
    assert latent_of(fit_profile(uneven, frame, records[0].key)).log_spread == pytest.approx(0.8, abs=0.2)
    assert latent_of(scored).log_spread < 0.3


def test_what_was_not_told_is_assumed_and_said() -> None:
    records, frame = Drawn(groups=40, repeats=1).records(0)
    bare = [replace(one, trajectories=tuple(replace(t, gold=None) for t in one.trajectories)) for one in frame.groups]
    latent = latent_of(fit_profile(records, type(frame).of(bare), records[0].key))
    assert latent.gain is None
    assert latent.call_sd == 0
    assert latent.assumed == (
        "agreement with gold is unknown: it must be given",
        "no question was asked twice: answers to a repeated question are taken to be the same",
    )
    lists, frame = Drawn(groups=40, repeats=2, listwise=True).records(0)
    assert latent_of(fit_profile(lists, frame, lists[0].key)).assumed == (
        "no group was shown in two orders: another order is taken to change nothing",
    )


def test_only_clear_preferences_and_positions_move_opinions(scored: Profile) -> None:
    records, frame = Drawn(groups=100, listwise=True, orders=3, repeats=2, slope=0.1).records(0)
    profile = fit_profile(records, frame, records[0].key)
    assert latent_of(profile).slope > 0
    table = tabulate(records, frame)
    assert movers(profile, table, {}).names[:2] == ("quality", "slope")
    unclear = replace(profile.position.slope, low=-1.0, high=1.0)
    weaker = replace(profile, position=replace(profile.position, slope=unclear))
    assert "slope" not in movers(weaker, table, {}).names
    assert latent_of(scored).slope == latent_of(scored).first == 0


def test_failures_have_odds_by_length_only_where_they_are_linked() -> None:
    records, frame = Drawn(groups=200, repeats=1, failures=0.1).records(0)
    profile = fit_profile(records, frame, records[0].key)
    rate, per_doubling, usual = failure_odds(profile, tabulate(records, frame), np.full(frame.gold.shape, 6.0))
    assert rate == pytest.approx(0.1, abs=0.03)
    assert (per_doubling, usual) == (0.0, None)
