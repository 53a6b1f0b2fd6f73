"""Turns a rendered group into a local judge's features: a row for each candidate, compared with its siblings.

The features that the embedded judge has too, and the form of each answer. The values only count; what they are worth
is in a model. On the recorded sets, weights of these agree with a teacher as well as weights of twice as many and a
hundred trees.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from calipers.backends import features as content
from calipers.backends.features import terms, words
from calipers.types import RenderedGroup

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

FORM_FEATURES: Final = (
    "words", "distinct_words", "terms", "new_terms", "task_terms", "compression", "repeated_triples",
    "repeated_sentences", "sentence_words", "longest_sentence", "lines", "questions", "capitals", "word_length",
    "starts_with_capital", "ends_a_sentence", "persons", "connectives", "copied_pairs", "copied_task_pairs",
)  # fmt: skip
"""The features of form, in the order of ``measure_form``. Counts are logarithms; shares are in [0, 1]."""
FEATURES: Final = (*content.FEATURES, *FORM_FEATURES)
"""The names of a local judge's features, in the order of the columns of ``MeasuredGroup.values``."""
LENGTH: Final = FEATURES.index("words")
OVERLAP: Final = FEATURES.index("coverage")
"""The columns of the two baselines that a local judge is measured against."""
TERMS: Final = 2**16

_SENTENCE = re.compile(r"[.!?。！？\n]+")
_PERSON = re.compile(r"\b(?:i|my|we|you|your)\b")
_CONNECTIVE = re.compile(r"\b(?:because|since|therefore|so|thus|first|second|finally|example)\b")


@dataclass(frozen=True, slots=True)
class MeasuredGroup:
    """A group as a local judge sees it: ``values`` (candidates, features), and what kind of task it is.

    ``copies`` is the number of identical trajectories that each candidate stands for. ``task_terms`` are hashes of the
    stems in the task's words, so that a model's file holds no words of its groups. ``has_tools`` is True if a candidate
    used a tool.
    """

    values: Array
    copies: tuple[int, ...]
    task_terms: frozenset[int]
    has_tools: bool

    @property
    def relative(self) -> Array:
        """The values relative to the siblings, (candidates, 2 * features), for a local judge.

        The first half is the difference from the group's mean, the second the share of siblings with a smaller value
        less the share with a larger one, in [-1, 1]. Both count every copy of a candidate.
        """
        weights = np.asarray(self.copies, dtype=np.float64)
        total = max(float(weights.sum()), 1.0)
        mean = (weights[:, None] * self.values).sum(axis=0) / total if len(self.values) else self.values
        signs = np.sign(np.round(self.values[:, None, :] - self.values[None, :, :], 9))
        ranks = np.einsum("j,ijf->if", weights, signs) / max(total - 1, 1.0)
        return np.hstack([self.values - mean, ranks])


def measure_group(view: RenderedGroup) -> MeasuredGroup:
    """Return the features of every candidate of ``view`` for a local judge. Messages of any form are accepted."""
    copies = tuple(max(1, len(candidate.members)) for candidate in view.candidates)
    lists = [candidate.messages for candidate in view.candidates]
    measured = content.measure_features(lists, prefix_length=view.prefix_length, copies=copies)
    rows = [(*candidate.values, *measure_form(candidate.answer, candidate.task)) for candidate in measured]
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))
    task = measured[0].task if measured else ""
    hashed = {zlib.crc32(stem.encode("utf-8", "replace")) % TERMS for stem in terms(words(task))}
    has_tools = any(candidate.has_tools for candidate in measured)
    return MeasuredGroup(values, copies, frozenset(hashed), has_tools)


@lru_cache(maxsize=64)
def _task_words(task: str) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """Return the stems and the pairs of words of a task, with which answers are compared."""
    tokens = words(task)
    return frozenset(terms(tokens)), frozenset(pairwise(tokens))


def measure_form(answer: str, task: str) -> tuple[float, ...]:
    """Return a local judge's features of form of an answer to ``task``, in the order of FORM_FEATURES."""
    tokens, low = words(answer), answer.lower()
    task_terms, task_pairs = _task_words(task)
    distinct, pairs = terms(tokens), set(pairwise(tokens))
    sentences = [sentence for part in _SENTENCE.split(low) if (sentence := part.strip())]
    data, count = answer.encode("utf-8", "replace"), max(1, len(tokens))
    copied = len(pairs & task_pairs)
    return (
        math.log1p(len(tokens)),
        math.log1p(len(set(tokens))),
        math.log1p(len(distinct)),
        math.log1p(len(distinct - task_terms)),
        math.log1p(len(distinct & task_terms)),
        min(2.0, len(zlib.compress(data, 1)) / max(1, len(data))),
        _repeated(list(zip(tokens, tokens[1:], tokens[2:], strict=False))),
        _repeated(sentences),
        math.log1p(len(tokens) / max(1, len(sentences))),
        math.log1p(max(map(len, sentences), default=0)),
        math.log1p(answer.count("\n")),
        math.log1p(answer.count("?")),
        sum(map(str.isupper, answer)) / max(1, len(answer)),
        min(20.0, sum(map(len, tokens)) / count),
        float(answer[:1].isupper()),
        float(answer.rstrip()[-1:] in {".", "!", "?", "。"}),
        len(_PERSON.findall(low)) / count,
        len(_CONNECTIVE.findall(low)) / count,
        copied / max(1, len(pairs)),
        copied / max(1, len(task_pairs)),
    )


def _repeated(items: Sequence[object]) -> float:
    return 1 - len(set(items)) / len(items) if items else 0.0
