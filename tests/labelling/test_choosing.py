"""Groups whose labels tell most about the judge come first, and every fourth is drawn at random."""

import asyncio
from pathlib import Path

import pytest

from calipers.labelling.order import EVERY, Contest, contests, queue, random_order
from calipers.report import open_sources
from calipers.testing import Noise, PositionBias, SimulatedJudge
from groups import FOUR, group_of
from labelled import fail
from reported import judged, member, result_of, write_lines

IDS = [f"g{n}" for n in range(40)]


def test_without_results_all_come_in_a_random_order_that_the_files_order_does_not_change():
    order = [IDS[number] for number in queue(IDS, {})]
    assert sorted(order) == sorted(IDS)
    assert order != IDS
    backwards = IDS[::-1]
    assert [backwards[number] for number in queue(backwards, {})] == order


def test_contested_groups_come_first_and_every_fourth_is_the_next_of_the_random_order():
    known = {name: Contest(0, n / 100) for n, name in enumerate(IDS)} | {"g3": Contest(1, 0.0), "g5": Contest(2, 0.1)}
    order = [IDS[number] for number in queue(IDS, known)]
    assert order[:3] == ["g5", "g3", "g39"]
    assert sorted(order) == sorted(IDS)
    chance = [IDS[number] for number in random_order(IDS)]
    drawn = order[EVERY - 1 :: EVERY][:5]
    assert drawn == [name for name in chance if name in drawn]
    assert chance.index(drawn[4]) < 12


def test_groups_that_the_judge_did_not_score_come_after_those_that_tell_something():
    known = {"g7": Contest(0, 0.2), "g8": Contest(0, 0.0)}
    order = [IDS[number] for number in queue(IDS, known)]
    assert order[0] == "g7"
    assert order[1:] == [IDS[number] for number in random_order(IDS) if IDS[number] != "g7"]


def results(*lines: dict[str, object], folder: Path) -> dict[str, Contest]:
    with open_sources([str(write_lines(folder / "r.jsonl", lines))], on_error=fail) as sources:
        return contests(sources)


def test_the_share_of_error_in_the_spread_is_the_doubt(tmp_path: Path):
    found = results(
        result_of("sure", member("a", 0.9, stderr=0.01), member("b", 0.1, stderr=0.01)),
        result_of("unsure", member("a", 0.55, stderr=0.2), member("b", 0.45, stderr=0.2)),
        result_of("level", member("a", 0.5, stderr=0.0), member("b", 0.5, stderr=0.0)),
        result_of("unknown", member("a", 0.5), member("b", 0.5)),
        result_of("failed", member("a", None), member("b", 0.5)),
        folder=tmp_path,
    )
    assert found["sure"].doubt == pytest.approx(0.0001 / (0.0001 + 0.16))
    assert found["unsure"].doubt == pytest.approx(0.04 / (0.04 + 0.0025))
    assert (found["level"].doubt, found["unknown"].doubt) == (0.0, 0.0)
    assert "failed" not in found


def test_a_panels_disputes_are_found_in_a_ledger(tmp_path: Path):
    quality = {"right": 0.9, "close": 0.6, "far": 0.3, "silent": 0.1}
    other = {"right": 0.6, "close": 0.9, "far": 0.3, "silent": 0.1}
    groups = [group_of(FOUR, group_id=f"same{n}") for n in range(3)]
    disputed = group_of({name: f"{text}!" for name, text in FOUR.items()}, group_id="disputed")
    both = SimulatedJudge(quality), SimulatedJudge(quality, Noise(0.001))
    _, one = asyncio.run(judged(tmp_path, groups, list(both)))
    with open_sources([str(one)], on_error=fail) as sources:
        agreed = contests(sources)
    (tmp_path / "disputed").mkdir()
    _, two = asyncio.run(judged(tmp_path / "disputed", [disputed], [both[0], SimulatedJudge(other, Noise(0.001))]))
    with open_sources([str(two)], on_error=fail) as sources:
        found = contests(sources)["disputed"]
    assert found.flags == 1
    assert {one.flags for one in agreed.values()} == {0}


def test_a_judge_that_the_order_turns_round_is_found(tmp_path: Path):
    close = dict.fromkeys(FOUR, 0.5)
    _, ledger = asyncio.run(judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(close, PositionBias(0.4))], orders=2))
    with open_sources([str(ledger)], on_error=fail) as sources:
        assert contests(sources)["g"].flags == 1
