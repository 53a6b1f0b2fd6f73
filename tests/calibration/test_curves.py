"""What more calls bring."""

import numpy as np

from calipers.calibration.curves import compare_with_fixed_calls, fidelity_curve
from calipers.calibration.records import as_record
from calipers.calibration.series import Frame, build_series
from calipers.inputs import as_group
from judged import compared, groups, rated

GROUPS = groups(60)


def drawn(*records: dict[str, object]):
    frame = Frame.of(map(as_group, GROUPS))
    (series,) = build_series(map(as_record, records), frame)[0]
    return fidelity_curve(series, frame.gold[list(series.rows)])


def test_asking_until_settled_has_a_figure_for_every_group_and_a_summary():
    found = drawn(*rated(GROUPS, "j", 1.0, calls=5))
    assert found.stopped is not None
    assert found.resolved is not None
    assert found.resolved.advantage_fidelity == float(np.mean(found.stopped))


def test_three_calls_or_pairs_are_not_stopped():
    assert drawn(*rated(GROUPS, "j", 1.0, calls=3)).stopped is None
    assert drawn(*compared(GROUPS, "j", bias=0.0, noise=0.5)).resolved is None


def test_stopping_is_held_against_as_many_calls_for_every_group():
    """By hand: 1.5 calls lie half way between one and two."""
    by_group = np.array([[0.2, 0.4], [0.6, 0.8]])
    found = compare_with_fixed_calls(np.array([1.0, 2.0]), np.array([0.5, 0.7]), by_group, tolerance=0.1)
    assert found is not None
    assert (found.calls, round(found.fixed_advantage_fidelity, 9)) == (1.5, 0.5)
    assert round(found.advantage_fidelity, 9) == 0.6
