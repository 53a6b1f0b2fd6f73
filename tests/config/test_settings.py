"""Settings as data: what a run learned about windows holds from the group on for which it was known."""

from __future__ import annotations

import json

from calipers.config.settings import RecordedJudge, Settings, recorded_settings
from calipers.types import Window

TWO = Settings((RecordedJudge("a", "here", "m"), RecordedJudge("b", "there", "n", 8192)))


def test_a_window_holds_from_its_group_on_and_for_its_judge_only() -> None:
    told = TWO.with_revealed_windows(5, [Window(4096, 2.5), None])
    assert told.windows == ((5, 0, 4096, 2.5),)
    assert told.for_group(4).judges == TWO.judges
    assert [one.window for one in told.for_group(5).judges] == [Window(4096, 2.5), Window(8192, 3.0)]
    assert told.for_group(99) == told.for_group(5)


def test_only_a_smaller_window_is_news() -> None:
    told = TWO.with_revealed_windows(5, [Window(4096, 2.5), Window(8192, 2.0)])
    assert told.windows == ((5, 0, 4096, 2.5),)
    assert told.with_revealed_windows(7, [Window(4096, 2.0), None]) is told
    assert told.with_revealed_windows(9, [Window(2048, 2.0), None]).for_group(9).judges[0].context_window == 2048


def test_what_was_learned_on_the_way_survives_the_ledger() -> None:
    told = TWO.with_revealed_windows(5, [Window(4096, 2.5), None])
    assert Settings.of(recorded_settings(json.loads(json.dumps(told.to_dict())))) == told


def test_a_run_begun_again_takes_up_the_windows_of_then_unless_they_are_known_to_be_others() -> None:
    before = TWO.with_revealed_windows(5, [Window(4096, 2.5), None]).to_dict()
    again = TWO.with_windows_of(before)
    assert again is not None
    assert again.windows == ((5, 0, 4096, 2.5),)
    grown = Settings((RecordedJudge("a", "here", "m"), RecordedJudge("b", "there", "n", 16384)))
    assert grown.with_windows_of(before) is None
