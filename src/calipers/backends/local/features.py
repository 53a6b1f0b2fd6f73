"""Turns a rendered group into a local judge's features: a row for each candidate, compared with its siblings.

The features that the embedded judge has too, and the form of each answer. The values only count; what they are worth
is in a model.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from calipers.backends import features as content
from calipers.backends.features import own_start, read_evidence, script, task_text, terms, words
from calipers.types import RenderedGroup

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

FORM_FEATURES = (
    "words",
    "characters",
    "distinct_words",
    "terms",
    "new_terms",
    "task_terms",
    "compressed",
    "compression",
    "vocabulary",
    "repeated_triples",
    "repeated_sentences",
    "sentences",
    "sentence_words",
    "longest_sentence",
    "list_items",
    "lines",
    "markup",
    "digits",
    "questions",
    "exclamations",
    "commas",
    "capitals",
    "symbols",
    "word_length",
    "starts_with_capital",
    "ends_a_sentence",
    "polite_opening",
    "negations",
    "persons",
    "connectives",
    "task_share",
    "answer_share",
    "copied_pairs",
    "copied_task_pairs",
    "task_length_ratio",
    "repeats_task",
)
"""The features of form, in the order of ``measure_form``. Counts are logarithms; shares are in [0, 1]."""

_SENTENCE = re.compile(r"[.!?。！？\n]+")
_ITEM = re.compile(r"^\s*(?:[-*•+]|\d{1,3}[.)])\s", re.MULTILINE)
_OPENING = re.compile(r"\b(?:here (?:is|are)|sure|certainly|of course)\b")
_NEGATION = re.compile(r"\b(?:not|no|never|however|but)\b")
_PERSON = re.compile(r"\b(?:i|my|we|you|your)\b")
_CONNECTIVE = re.compile(r"\b(?:because|since|therefore|so|thus|first|second|finally|example)\b")
_LONGEST_RATIO = 3.0


TURN_FEATURES: Final = ("turns", "calls")
FEATURES: Final = (*content.FEATURES, *FORM_FEATURES, *TURN_FEATURES)
"""The names of a local judge's features, in the order of the columns of ``MeasuredGroup.values``."""

TERMS: Final = 2**16
LENGTH: Final = FEATURES.index("words")
OVERLAP: Final = FEATURES.index("task_share")
"""The columns of the two baselines that a local judge is measured against."""


@dataclass(frozen=True, slots=True)
class MeasuredGroup:
    """A group as a local judge sees it: ``values`` (candidates, features), and what kind of task it is.

    ``copies`` is the number of identical trajectories that each candidate stands for. ``task_terms`` are hashes of the
    stems in the task's words, and ``script`` is its prevailing script (``latin``, ``unspaced``, ``other`` or "").
    ``has_tools`` is True if a candidate calls a tool.
    """

    values: Array
    copies: tuple[int, ...]
    task_terms: frozenset[int]
    script: str
    has_tools: bool

    @property
    def relative(self) -> Array:
        """The values relative to the siblings: (candidates, 2 * features), as ``relative_values`` returns them."""
        return relative_values(self.values, self.copies)


def measure_group(view: RenderedGroup) -> MeasuredGroup:
    """Return the features of every candidate of ``view`` for a local judge. Messages of any form are accepted."""
    copies = tuple(max(1, len(one.members)) for one in view.candidates)
    lists = [one.messages for one in view.candidates]
    measured = content.measure_features(lists, prefix_length=view.prefix_length, copies=copies)
    start = own_start(lists, view.prefix_length)
    rows, tools, tasks = [], False, []
    for messages, one in zip(lists, measured, strict=True):
        evidence = read_evidence(messages[start:])
        task = task_text(messages[:start], messages[start:])
        form = measure_form(evidence.answer, task_words(task))
        rows.append((*one.values, *form, math.log1p(evidence.turns), math.log1p(len(evidence.calls))))
        tools = tools or bool(evidence.calls)
        tasks.append(task)
    first = tasks[0] if tasks else ""
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))
    return MeasuredGroup(values, copies, hashed_terms(task_words(first).terms), script(first), tools)


def hashed_terms(terms: Iterable[str]) -> frozenset[int]:
    """Return the stems of a task as numbers below TERMS, so that a local judge's files hold no words of its groups."""
    return frozenset(zlib.crc32(term.encode("utf-8", "replace")) % TERMS for term in terms)


def relative_values(values: Array, copies: Sequence[int]) -> Array:
    """Return a group's features relative to its siblings, (candidates, 2 * features), for a local judge.

    The first half is the difference from the group's mean, the second the share of siblings with a smaller value less
    the share with a larger one, in [-1, 1]. Both count every copy of a candidate.
    """
    weights = np.asarray(copies, dtype=np.float64)
    total = max(float(weights.sum()), 1.0)
    mean = (weights[:, None] * values).sum(axis=0) / total if len(values) else values
    signs = np.sign(np.round(values[:, None, :] - values[None, :, :], 9))
    ranks = np.einsum("j,ijf->if", weights, signs) / max(total - 1, 1.0)
    return np.hstack([values - mean, ranks])


@dataclass(frozen=True, slots=True)
class TaskWords:
    """The words of a task that answers are compared with."""

    tokens: tuple[str, ...]
    terms: frozenset[str]
    pairs: frozenset[tuple[str, str]]


@lru_cache(maxsize=64)
def task_words(task: str) -> TaskWords:
    """Return what a local judge compares answers with in the text of their task."""
    tokens = words(task)
    return TaskWords(tuple(tokens), frozenset(terms(tokens)), frozenset(pairwise(tokens)))


def measure_form(answer: str, task: TaskWords) -> tuple[float, ...]:
    """Return a local judge's features of form of an answer to ``task``, in the order of FORM_FEATURES."""
    tokens, low = words(answer), answer.lower()
    sentences = [one for part in _SENTENCE.split(low) if (one := part.strip())]
    return (
        *_amounts(answer, tokens, task),
        *_repetition(tokens, sentences),
        *_layout(answer, tokens, sentences),
        *_letters(answer, low, tokens),
        *_overlap(tokens, task),
    )


def _amounts(answer: str, tokens: Sequence[str], task: TaskWords) -> tuple[float, ...]:
    own = terms(tokens)
    data = answer.encode("utf-8", "replace")
    packed = len(zlib.compress(data, 1))
    return (
        math.log1p(len(tokens)),
        math.log1p(len(answer)),
        math.log1p(len(set(tokens))),
        math.log1p(len(own)),
        math.log1p(len(own - task.terms)),
        math.log1p(len(own & task.terms)),
        math.log1p(packed),
        min(2.0, packed / max(1, len(data))),
        len(set(tokens)) / max(1, len(tokens)),
    )


def _repetition(tokens: Sequence[str], sentences: Sequence[str]) -> tuple[float, ...]:
    triples = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return _repeated(triples), _repeated(sentences)


def _repeated(items: Sequence[object]) -> float:
    return 1 - len(set(items)) / len(items) if items else 0.0


def _layout(answer: str, tokens: Sequence[str], sentences: Sequence[str]) -> tuple[float, ...]:
    return (
        math.log1p(len(sentences)),
        math.log1p(len(tokens) / max(1, len(sentences))),
        math.log1p(max(map(len, sentences), default=0)),
        math.log1p(len(_ITEM.findall(answer))),
        math.log1p(answer.count("\n")),
        math.log1p(answer.count("`") + answer.count("**")),
    )


def _letters(answer: str, low: str, tokens: Sequence[str]) -> tuple[float, ...]:
    size, count = max(1, len(answer)), max(1, len(tokens))
    capitals = sum(map(str.isupper, answer))
    symbols = size - sum(map(str.isalnum, answer)) - sum(map(str.isspace, answer))
    return (
        math.log1p(sum(map(str.isdigit, answer))),
        math.log1p(answer.count("?")),
        math.log1p(answer.count("!")),
        answer.count(",") / count,
        capitals / size,
        symbols / size,
        min(20.0, sum(map(len, tokens)) / count),
        float(answer[:1].isupper()),
        float(answer.rstrip()[-1:] in {".", "!", "?", "。"}),
        float(bool(_OPENING.search(low[:80]))),
        len(_NEGATION.findall(low)) / count,
        len(_PERSON.findall(low)) / count,
        len(_CONNECTIVE.findall(low)) / count,
    )


def _overlap(tokens: Sequence[str], task: TaskWords) -> tuple[float, ...]:
    own, pairs = terms(tokens), set(pairwise(tokens))
    shared, copied = len(own & task.terms), len(pairs & task.pairs)
    return (
        shared / max(1, len(task.terms)),
        shared / max(1, len(own)),
        copied / max(1, len(pairs)),
        copied / max(1, len(task.pairs)),
        min(_LONGEST_RATIO, len(tokens) / max(1, len(task.tokens))),
        float(bool(tokens) and tuple(tokens[:5]) == task.tokens[:5]),
    )
