"""Quotations have to stand in what was given."""

from typing import Any

import pytest

from answers import answered, told
from calipers.errors import ConfigError
from calipers.verifiers import Citation

SOURCE = told("user", "Report:\nThe bridge was closed on Monday,\nbecause the river rose. It opened again on Friday.")
TOOL = told("tool", "He said “nobody was hurt at all” to the press.")


@pytest.mark.parametrize(("answer", "met"), [
    ('The report says "closed on Monday, because the river rose".', True),
    ("It says “The bridge was closed on Monday” and «nobody was hurt at all».", True),
    ("It says <quote>the river rose. It opened again</quote>.", True),
    ('It says "The bridge ... opened again on Friday."', True),
    ('It says "opened again on Friday ... The bridge was closed"', False),
    ('It says "closed on Tuesday, because the river rose".', False),
    ('"the river rose. It opened" but also "this was never written"', False),
    ('It is "closed", he says.', False),
    ('It was "on Monday".', False),  # two words may be in any source by chance
    ('It was "closed on Monday".', True),
    ("No quotation at all.", False),
    ("<think>so", None),
])  # fmt: skip
def test_every_quotation_stands_in_a_source(answer: str | None, met: Any) -> None:
    found = Citation()(answered(answer, SOURCE, TOOL))
    assert found.met is met, found


def test_what_the_model_wrote_itself_is_no_source() -> None:
    own = told("assistant", "I think that pigs can fly over it.")
    assert Citation()(answered('As was said: "pigs can fly over it"', SOURCE, own)).met is False


def test_none_need_be_there_where_none_is_asked_for() -> None:
    assert Citation(at_least=0)(answered("No quotation.", SOURCE)).met is True
    assert Citation(at_least=0)(answered('"not in any source"', SOURCE)).met is False
    with pytest.raises(ConfigError):
        Citation(min_words=0)
