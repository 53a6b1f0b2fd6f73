"""An answer that is recorded twice is no repeat, and a repeat is no copy."""

from collections.abc import Sequence
from typing import Any

import pytest

from calipers.calibration import Calibration, calibrate
from calipers.calibration.records import as_record
from calipers.calibration.series import Frame, build_series
from calipers.inputs import as_group
from judged import group, groups, rated, record

GROUPS = groups(40)
PAIR = group(1, {"a": 1.0, "b": 0.0}) | {"group_id": "pair"}


def noise(calls: int, **fields: Any) -> list[dict[str, Any]]:
    """Lists by a judge whose scores are almost all noise."""
    return list(rated(GROUPS, "j", 20.0, calls=calls, mode="listwise", **fields))


def kept(lines: Sequence[dict[str, Any]]) -> int:
    frame = Frame.of(as_group(one) for one in (*GROUPS, PAIR))
    return build_series([as_record(one) for one in lines], frame)[1].used


def without_index(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.items() if key != "sample_index"} for one in lines]


def repeatability(found: Calibration) -> float | None:
    return found.judges[0].repeatability


def verdicts(*winners: str | None) -> list[dict[str, Any]]:
    return [record(PAIR, "j", {"winner": winner}, mode="pairwise", order=["a", "b"]) for winner in winners]


@pytest.mark.parametrize("times", [2, 3])
def test_a_file_joined_with_itself_shows_what_it_shows_once(times: int):
    once = calibrate(GROUPS, noise(2))
    more = calibrate(GROUPS, noise(2) * times)
    assert repeatability(more) == repeatability(once)
    assert [way.name for way in more.ways] == [way.name for way in once.ways]
    assert more.judges == once.judges
    (finding,) = [one for one in more.findings if one.kind == "copies"]
    are = "judgments are there already and not counted again"
    assert finding.text.startswith(f"{80 * (times - 1)} {are}; number repeats of a question by 'sample_index'")
    assert "copies" not in {one.kind for one in once.findings}


def test_panels_are_weighted_as_without_the_copies():
    lines = [*noise(2), *rated(GROUPS, "k", 1.0, calls=2, mode="listwise")]
    once, more = calibrate(GROUPS, lines), calibrate(GROUPS, [*lines, *noise(2)])
    assert (more.panel, more.recommendation) == (once.panel, once.recommendation)


def test_a_steady_judges_numbered_repeats_are_repeats():
    lines = [one | {"sample_index": number} for one in rated(GROUPS, "j", 0.0) for number in range(3)]
    found = calibrate(GROUPS, lines)
    assert repeatability(found) == pytest.approx(1.0)
    assert found.judges[0].calls_per_group == 3


def test_a_price_makes_no_other_answer_and_tokens_do():
    (line,) = rated(GROUPS[:1], "j", 1.0)
    priced = [line | {"usage": {"input_tokens": 9, "output_tokens": 3, "cost_usd": cost}} for cost in (None, 0.1)]
    assert kept(priced) == 1
    assert kept([*priced, line | {"usage": {"input_tokens": 9, "output_tokens": 4}}]) == 2


def test_without_numbers_answers_that_differ_are_repeats():
    lines = without_index(noise(2))
    found = calibrate(GROUPS, lines)
    assert repeatability(found) == repeatability(calibrate(GROUPS, noise(2)))
    assert found.judges[0].calls_per_group == 2


def test_without_numbers_verdicts_that_agree_are_repeats_where_some_differ():
    """Agreeing verdicts must not vanish: a judge would look as if it never repeated itself."""
    assert kept(without_index(verdicts("a", "a", "b"))) == 3
    assert kept(without_index(verdicts("a", "a"))) == 1


def test_an_unreadable_answer_that_is_there_twice_counts_once():
    assert kept(verdicts(None, None)) == kept(without_index(verdicts(None, None))) == 1
