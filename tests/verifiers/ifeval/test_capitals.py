"""Words in capitals are counted as the Treebank rules part words."""

from collections.abc import Callable

import pytest

from calipers.verifiers.ifeval.capitals import capital_words
from calipers.verifiers.ifeval.punkt import built_in_parameters
from effort import in_proportion

KNOWN = built_in_parameters()


@pytest.mark.parametrize(("text", "count"), [
    ("", 0),
    ("nothing here, Really nothing", 0),
    ("I saw NASA and the U.S. today", 3),
    ("ALL-OR-NOTHING is one", 1),
    ("A1 B2 12 -- ...", 2),
    ("IT'S here", 2),
    ("DON'T go", 2),
    ("DON’T go", 2),
    ("O'Brien and O'NEILL", 1),
    ("CANNOT GIMME GOTTA", 6),
    ("'TIS and 'Twas", 3),
    ("D'YE MORE'N", 4),
    ("An't WEREn't", 2),
    ('He said "STOP", then *GO* [NOW] (OK) {X}<Y>', 6),
    ("A/B C:D E,F 1:A", 6),
    ("'A' or 'B", 2),
    ("ÉTÉ ΟΔΟΣ ß ǅ", 2),
    ("YES!NO?MAYBE;SO", 4),
    ("X--Y..Z", 3),
    ("ab“CD”ef", 1),
])  # fmt: skip
def test_capitals_are_counted_word_by_word(text: str, count: int) -> None:
    assert capital_words(text, KNOWN) == count


@pytest.mark.parametrize("unit", ["A.", "'", "A' ", "``", " ", "A)", "(", "CANNOT'", "A,", '"'])
def test_hostile_text_takes_time_in_proportion_to_its_length(unit: str) -> None:
    def counted(size: int) -> Callable[[], object]:
        text = "X." + unit * size + "y"
        return lambda: capital_words(text, KNOWN)

    in_proportion(counted, 50_000)
