"""Which sentences may be an attack, by their words alone."""

from __future__ import annotations

import random
import re
from functools import reduce
from itertools import pairwise
from operator import or_

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.guard.attack_rules import WIDTH
from calipers.guard.normalised import normalise
from calipers.guard.possible_sentences import (
    LONGEST,
    STEP,
    _coarse_concepts_of_each,
    _concepts_of_parts,
    may_contain_attack,
    sentences_between,
    whole_sentences,
)
from calipers.guard.sentence_attacks import _in_sentences
from calipers.guard.vocabulary import WORD, lexicon, words_between
from calipers.testing.rewordings import HELD_OUT, HONEST_HELD_OUT, HONEST_SEEN, SEEN
from calipers.types.steps import run_steps

_ENDS = re.compile(r"[!?;。！？।؟۔…]+|\.(?!\w)|\n|\\n")
_FILLER = ["the", "house", "is", "10", "5", "1", "1.0", "of", "A+", "you", "we", "#1", "(", ")", "not"]
_BREAKS = [" "] * 8 + [". ", "\n", "? ", ", ", ": ", "! ", "1. ", "\n2. "]


def drawn_texts(count: int, *, seed: int, breaks: list[str], languages: str = "en de fr ru") -> list[str]:
    """Texts of words of the lexicon, in any order: most are no attack, and many are nearly one."""
    draw = random.Random(seed)
    tables = [lexicon()[code]["words"].values() for code in languages.split()]
    pools = [[word.replace("_", " ").rstrip("*") for line in lines for word in line.split()] for lines in tables]
    return [
        "".join(
            draw.choice(draw.choice([pool, pool, _FILLER])) + draw.choice(breaks) for _ in range(draw.randint(2, 60))
        )
        for pool in (draw.choice(pools) for _ in range(count))
    ]


@pytest.mark.parametrize("seed", range(6))
def test_no_attack_in_drawn_texts_is_excluded(seed: int) -> None:
    breaks = [" "] if seed % 3 == 2 else _BREAKS  # long sentences are read in parts
    texts = [*drawn_texts(400, seed=seed, breaks=breaks), *SEEN, *HELD_OUT]
    excluded = attacks = 0
    for text in map(normalise, texts):
        whole = 0, len(text.shown)
        if run_steps(may_contain_attack(text.shown, text.plain, *whole)):
            attacks += any(_in_sentences(text, *whole, ()))
        else:
            excluded += 1
            assert not any(_in_sentences(text, *whole, ())), text.shown
    assert attacks > 100
    assert excluded > 20


def test_most_honest_text_about_scoring_is_excluded() -> None:
    texts = [normalise(text) for text in (*HONEST_SEEN, *HONEST_HELD_OUT) if text.isascii()]
    kept = [text for text in texts if run_steps(may_contain_attack(text.shown, text.plain, 0, len(text.shown)))]
    assert len(kept) < len(texts) / 2


@given(st.text("ab.!?\n \\n…", max_size=80), st.lists(st.tuples(st.integers(0, 80), st.integers(1, 20)), max_size=5))
def test_spans_are_extended_to_whole_sentences(text: str, drawn: list[tuple[int, int]]) -> None:
    spans: list[tuple[int, int]] = []
    for begin, length in sorted(drawn):
        first = max(begin, spans[-1][1] + 1 if spans else 0)
        if first < len(text):
            spans.append((first, min(len(text), first + length)))
    ends = [0, *(match.end() for match in _ENDS.finditer(text)), len(text)]
    wanted = [
        (max(end for end in ends if end <= first), min(end for end in ends if end >= last)) for first, last in spans
    ]
    found = list(whole_sentences(text, spans))
    assert all(any(begin <= first and last <= end for begin, end in found) for first, last in wanted)
    assert {edge for run in found for edge in run} <= {edge for run in wanted for edge in run}
    assert all(one[1] < other[0] for one, other in pairwise(found))


def test_sentences_are_between_marks_and_line_breaks() -> None:
    text = "One. Two 2.5 is it?! Three\\nfour\nfive"
    sentences = [text[begin:end].strip() for begin, end in sentences_between(text, 0, len(text))]
    assert sentences == ["One", "Two 2.5 is it", "Three", "four", "five"]


@given(st.text(st.characters(codec="ascii"), max_size=200))
def test_words_of_ascii_text_are_those_of_any_text(text: str) -> None:
    assert words_between(text, 0, len(text)) == WORD.findall(text)


@pytest.mark.parametrize("count", [0, 1, 16, 17, 511, 512, 513, 528, 529, 545, 2000])
def test_a_long_sentence_is_looked_up_in_parts_as_it_is_at_once(count: int) -> None:
    words = words_between(" ".join(drawn_texts(400, seed=count, breaks=[" "])).lower(), 0, 10**6)[:count]
    assert len(words) == count
    each = _coarse_concepts_of_each(words)
    whole = [set(each[start : start + LONGEST]) for start in range(0, max(1, count - STEP), STEP)]
    parts = list(_concepts_of_parts(words))
    assert len(parts) == len(whole)
    both_halves = (1 << 2 * WIDTH) - 1
    assert [part & both_halves for part in parts] == [reduce(or_, some, 0) & both_halves for some in whole]
