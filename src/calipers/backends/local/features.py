"""Turns a rendered group into a local judge's features: a row for each candidate, compared with its siblings.

The embedded judge's features, and the form of each answer. The values only count; what they are worth is in a model.
Not responsible for weights (``model``) or for which groups a model may judge (``domain``).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from calipers.backends.embedded.evidence import Evidence, read_evidence, task_text
from calipers.backends.embedded.features import FEATURES as CONTENT_FEATURES
from calipers.backends.embedded.features import measure_features
from calipers.backends.embedded.text_counts import script
from calipers.backends.local.form import FORM_FEATURES, measure_form, task_words
from calipers.types import RenderedGroup

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

TURN_FEATURES: Final = ("turns", "calls")
FEATURES: Final = (*CONTENT_FEATURES, *FORM_FEATURES, *TURN_FEATURES)
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
    content = measure_features(lists, prefix_length=view.prefix_length, copies=copies)
    start = own_start(view)
    rows, tools, tasks = [], False, []
    for messages, measured in zip(lists, content, strict=True):
        evidence = read_evidence(messages[start:])
        task = task_text(messages[:start], messages[start:])
        form = measure_form(evidence.answer, task_words(task))
        rows.append((*measured.values, *form, *_turns(evidence)))
        tools = tools or bool(evidence.calls)
        tasks.append(task)
    first = tasks[0] if tasks else ""
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))
    return MeasuredGroup(values, copies, hashed_terms(task_words(first).terms), script(first), tools)


def hashed_terms(terms: Iterable[str]) -> frozenset[int]:
    """Return the stems of a task as numbers below TERMS, so that a local judge's files hold no words of its groups."""
    return frozenset(zlib.crc32(term.encode("utf-8", "replace")) % TERMS for term in terms)


def own_start(view: RenderedGroup) -> int:
    """Return the index of a local judge's first own message: after the shared ones of a user or the system."""
    shared = view.candidates[0].messages[: view.prefix_length] if view.candidates else ()
    roles = [message.get("role") for message in shared]
    if len(view.candidates) == 1:
        return next((place for place, role in enumerate(roles) if role == "assistant"), len(roles))
    return max((place + 1 for place, role in enumerate(roles) if role in {"user", "system", "developer"}), default=0)


def _turns(evidence: Evidence) -> tuple[float, ...]:
    return float(np.log1p(evidence.turns)), float(np.log1p(len(evidence.calls)))


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
