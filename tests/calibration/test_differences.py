"""Judges are compared on the same groups: a difference is known better than either fidelity."""

from calipers.calibration import calibrate, measures
from calipers.calibration.differences import Difference, difference_lines
from judged import groups, rated

GROUPS = groups(60)


def pair(judge: str, other: str, difference: float, interval: tuple[float, float], asked: str = "m") -> Difference:
    return Difference(judge, asked, other, "m", difference, interval, 40)


def test_each_pair_is_compared_on_the_groups_that_both_scored():
    records = [*rated(GROUPS, "fine", 0.3), *rated(GROUPS[10:], "fair", 0.9), *rated(GROUPS[:50], "poor", 3.0)]
    found = calibrate(GROUPS, records)
    assert [(one.judge, one.other, one.groups) for one in found.differences] == [
        ("fine", "fair", 50), ("fine", "poor", 50), ("fair", "poor", 40),
    ]  # fmt: skip
    assert all(one.is_clear for one in found.differences)
    assert found.to_dict()["differences"][0]["groups"] == 50
    assert calibrate(GROUPS, list(rated(GROUPS, "fine", 0.3))).differences == ()


def test_the_interval_is_the_bootstrap_of_the_other_figures():
    found = calibrate(GROUPS, [*rated(GROUPS, "a", 0.3), *rated(GROUPS, "b", 1.5)])
    alone = {way.judges[0]: way.fidelity for way in found.ways if len(way.judges) == 1}
    assert found.differences[0].interval == measures.bootstrap_interval(alone["a"] - alone["b"])


def test_one_sentence_answers():
    names = {"vllm/a@http://x/v1": "vllm/a"}
    a = "vllm/a@http://x/v1"
    clear, unclear = (0.06, 0.16), (-0.02, 0.05)
    both = difference_lines(
        [pair(a, "b", 0.113, clear), pair(a, "c", 0.01, unclear), pair("c", "b", 0.1, clear)], names
    )
    assert both == [
        "vllm/a - b  +0.113 [+0.060, +0.160] on 40 groups",
        "vllm/a - c  +0.010 [-0.020, +0.050] on 40 groups",
        "c - b       +0.100 [+0.060, +0.160] on 40 groups",
        "vllm/a agrees better with gold than b; these groups do not show that it does than c.",
    ]
    assert difference_lines([pair(a, "b", 0.1, clear)], names)[-1] == "vllm/a agrees better with gold than b."
    assert difference_lines([pair(a, "b", 0.0, unclear)], names)[-1] == (
        "These 40 groups do not show which of vllm/a and b agrees best with gold."
    )
    assert difference_lines([], names) == []
    modes = difference_lines([pair(a, "b", 0.1, clear, asked="pairwise")], names)
    assert modes[-1] == "vllm/a (pairwise) agrees better with gold than b (m)."


def test_many_judges_are_compared_with_the_best_only():
    every = [pair(one, other, 0.1, (0.05, 0.2)) for at, one in enumerate("abcdef") for other in "abcdef"[at + 1 :]]
    lines = difference_lines(every, {})
    assert [line[:5] for line in lines[:-1]] == ["a - b", "a - c", "a - d", "a - e", "a - f"]
    assert lines[-1] == "a agrees better with gold than b, c, d and 2 others."
