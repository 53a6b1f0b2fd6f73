"""Words on stderr are folded between words, whole where they are to be copied, and a wrong file is not a flood."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calipers.cli.messages import BadLines, reason_lines, wrap_words
from calipers.errors import InputError

TEXTS = st.text(st.sampled_from("ab /-\n"), max_size=200)


@given(TEXTS, st.integers(20, 60))
def test_what_fits_stays_as_it_is_and_only_a_single_word_is_longer(text: str, width: int) -> None:
    for line in wrap_words(text, width).split("\n"):
        assert len(line) <= width or len(line.split()) == 1 or line in text.split("\n")
    if all(len(line) <= width for line in text.split("\n")):
        assert wrap_words(text, width) == text


def test_the_first_ten_bad_lines_are_told_and_all_are_counted() -> None:
    said: list[str] = []
    bad = BadLines(said.append)
    for line in range(1, 11):
        bad(InputError("not JSON", source="f.jsonl", line=line))
    assert (len(said), bad.told) == (10, "10 (reported above; not scored)")
    for line in range(11, 1500):
        bad(InputError("not JSON", source="f.jsonl", line=line))
    assert said[9:] == ["Error: f.jsonl:10: not JSON", "Error: further lines are like these; they are only counted"]
    assert (bad.count, bad.told) == (1499, "1,499 (the first 10 reported above; not scored)")


def test_reasons_that_differ_only_in_figures_are_one_and_the_rest_is_counted():
    reasons = {f"failed: the next try is {number}.5 s away, with 0.1 s left": 2 for number in range(10)}
    reasons |= {
        "HTTP 400: no 1": 4,
        "HTTP 400: no 2": 4,
        "failed: HTTP 503": 7,
        "abstained: no verdict": 3,
        "a": 2,
        "b": 1,
    }
    assert reason_lines(reasons, 3) == [
        "20 × failed: the next try is … s away, with 0.1 s left",
        "8 × HTTP 400: no …",
        "7 × failed: HTTP 503",
        "+6 more for 3 other reasons",
    ]
    assert reason_lines({"a 1": 1}, 3) == ["1 × a 1"]
    assert reason_lines({}, 3) == []
