"""What an observer sees, cut down."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from calipers.guard.canary import CanaryAmong
from calipers.monitoring.answers import answer_for_metrics, candidate_shapes, markdown_marks
from calipers.protocols.scores import Listwise
from calipers.render import render
from calipers.types import Ask, Completion, Rating, Reading, Usage
from groups import group_of

VIEW = render(group_of({"plain": "forty two", "marked": "# Answer\n\n- **forty** two\n- `42`", "twin": "forty two"}))
ASK = Ask(3, (0, 1), (1, 0), cause="first")


def test_shapes_count_own_characters_and_marks_of_markdown():
    by_id = {name: shape for shape in candidate_shapes(VIEW) for name in shape.ids}
    assert by_id["plain"] == by_id["twin"]
    assert (by_id["plain"].characters, by_id["plain"].marks) == (len("forty two"), 0)
    assert by_id["marked"].marks == 5


def test_an_answer_keeps_who_said_what_where():
    request = Listwise().frame(ASK, VIEW)
    reading = Reading((Rating(1, 0.9, 3, 0), Rating(0, 0.1, 3, 1)), "strict")
    kept = answer_for_metrics(
        request, Completion("x", usage=Usage(7, 3), latency=2.5, attempts=2, recorded=True), reading
    )
    assert kept.ratings == ((1, 0.0, 0.9), (0, 1.0, 0.1))
    assert (kept.group_id, kept.presentation, kept.latency, kept.attempts, kept.recorded) == ("g", 3, 2.5, 2, True)
    assert len(kept.shapes) == 2
    assert not kept.is_follow_up


def test_a_canary_has_no_shape():
    request = CanaryAmong(Listwise(), 1.0).frame(ASK, VIEW)
    assert len(request.view.candidates) == 3
    assert len(answer_for_metrics(request, Completion("x"), Reading((), "rejected")).shapes) == 2


@given(st.text(st.sampled_from(" #*`|>-+1.)a\n\r\u2028\u0663"), max_size=40))
def test_marks_of_markdown_are_counted_as_one_pattern_over_the_whole_text_counts_them(text: str):
    marks = re.compile(r"^ {0,3}(?:#{1,6} |[-*+] |\d{1,3}[.)] |>|```|\|)|\*\*[^*\n]+\*\*|`[^`\n]+`", re.MULTILINE)
    assert markdown_marks(text) == sum(1 for _ in marks.finditer(text))
