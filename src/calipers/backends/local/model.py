"""A local judge's model: a weighted sum of features and a few small trees, the groups it may judge, and its file.

The sum is a relative score. Groups unlike those that it was trained on are abstained. Reading a model runs nothing: it
is JSON, checked field by field.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from calipers.backends.local.features import FEATURES, LENGTH, TERMS, Array, MeasuredGroup
from calipers.errors import ConfigError

Places: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

FORMAT: Final = "calipers-local-judge/2"
MODEL_FILE: Final = "model.json"
_ROOM: Final = 0.7
"""How far the mean log length of a group may be beyond the training groups': a factor of two."""
_LARGEST: Final = 20_000_000
"""Bytes of a model file; none that calipers writes has a tenth of it."""
_TREES: Final = ("features", "thresholds", "lefts", "rights", "values")
_COLUMNS: Final = 2 * len(FEATURES)
_SCRIPTS: Final = frozenset({"", "latin", "unspaced", "other"})


@dataclass(frozen=True, slots=True)
class Domain:
    """What a local judge's training groups were like.

    ``scripts`` are those of their tasks, ``tools`` whether candidates called tools in some (True) and in none (False).
    ``shortest`` and ``longest`` bound the mean of log(words + 1) over a group's answers. ``terms`` are hashes of the
    stems in their tasks, and ``familiar`` is the least share of a task's stems that has to be among them.
    """

    scripts: frozenset[str]
    tools: frozenset[bool]
    shortest: float
    longest: float
    terms: frozenset[int]
    familiar: float

    def why_outside(self, group: MeasuredGroup) -> str | None:
        """Return why a local judge must not judge a group, in words, or None if it may."""
        if group.script not in self.scripts and group.script:
            return f"the task is written in another script ({group.script}) than those it was trained on"
        if group.has_tools not in self.tools:
            calls = "call tools" if group.has_tools else "call no tools"
            return f"the candidates {calls}, unlike those that it learned from"
        length = mean_length(group)
        if not self.shortest - _ROOM <= length <= self.longest + _ROOM:
            return f"the answers are much {'longer' if length > self.longest else 'shorter'} than those it learned from"
        known = familiarity(group.task_terms, self.terms)
        if known < self.familiar:
            return f"only {known:.0%} of the task's words occur in the tasks that it learned from"
        return None


def mean_length(group: MeasuredGroup) -> float:
    """Return the mean of log(words + 1) over the answers of a local judge's group."""
    return float(group.values[:, LENGTH].mean()) if len(group.values) else 0.0


def familiarity(terms: AbstractSet[int], known: AbstractSet[int]) -> float:
    """Return the share of a task's stems that a local judge knows; 1 for a task without words."""
    return len(terms & known) / len(terms) if terms else 1.0


def learn_domain(groups: Sequence[MeasuredGroup], held_out: Sequence[float]) -> Domain:
    """Return the domain of a local judge's training groups.

    ``held_out`` are the familiarities of their tasks, each to the tasks of other folds. A task as unfamiliar as the one
    in a hundred that is least familiar is outside.
    """
    lengths = [mean_length(one) for one in groups]
    terms: set[int] = set()
    for one in groups:
        terms |= one.task_terms
    return Domain(
        scripts=frozenset(one.script for one in groups),
        tools=frozenset(one.has_tools for one in groups),
        shortest=float(np.percentile(lengths, 0.5)),
        longest=float(np.percentile(lengths, 99.5)),
        terms=frozenset(terms),
        familiar=float(np.percentile(held_out, 1)) if len(held_out) else 0.0,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Small decision trees over relative features, as arrays (trees, nodes); node 0 of each is its root.

    At a node with ``features >= 0``, a candidate with a value up to ``thresholds`` goes to node ``lefts`` of the tree,
    any other to node ``rights``; children come after their parent. Any other node is a leaf with the tree's ``values``.
    """

    features: Places
    thresholds: Array
    lefts: Places
    rights: Places
    values: Array

    def evaluate(self, rows: Array) -> Array:
        """Return the sum of the trees' values for each row of a local judge's relative features."""
        trees = np.arange(len(self.features))
        at = np.zeros((len(rows), len(trees)), dtype=np.int64)
        for _ in range(self.features.shape[1]):
            column = self.features[trees, at]
            inner = column >= 0
            if not inner.any():
                break
            value = np.take_along_axis(rows, np.maximum(column, 0), axis=1)
            below = np.where(value <= self.thresholds[trees, at], self.lefts[trees, at], self.rights[trees, at])
            at = np.where(inner, below, at)
        return np.asarray(self.values[trees, at].sum(axis=1))

    def times(self, factor: float) -> Forest:
        """Return the trees of a local judge with all values times ``factor``."""
        return replace(self, values=self.values * factor)


def no_trees() -> Forest:
    """Return a local judge's trees when it has none."""
    none, nothing = np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1))
    return Forest(none, nothing, none, none, nothing)


@dataclass(frozen=True, slots=True)
class Model:
    """What a local judge has learned: ``weights`` of relative features, in units of the score's own, and ``trees``.

    The score of a candidate is 0.5 + ``slope`` * (weighted sum + trees), on a scale of 0 to 1, so that the differences
    in a group are those that the teacher's scores are expected to have. ``stderr`` is its standard error against the
    teacher, measured on prompts that were held out.
    """

    name: str
    version: int
    teachers: tuple[str, ...]
    weights: Array
    trees: Forest
    slope: float
    stderr: float
    domain: Domain

    @property
    def title(self) -> str:
        """The judge's name with its version, as results and ledgers show it."""
        return f"{self.name}-{self.version}"

    def raw(self, relative: Array) -> Array:
        """Return the sum of weighted features and trees for each row of relative features."""
        return np.asarray(relative @ self.weights + self.trees.evaluate(relative), dtype=np.float64)

    def scores(self, group: MeasuredGroup) -> Array:
        """Return the local judge's score of each candidate, from 0.02 to 0.98. Equal groups get equal scores."""
        return np.clip(0.5 + self.slope * self.raw(group.relative), 0.02, 0.98)


@dataclass(frozen=True, slots=True)
class Stored:
    """A local judge's folder as read: the ``model``, and the ``digest`` of its file."""

    model: Model
    digest: str


def write_model(folder: Path, model: Model) -> None:
    """Write a local judge's model into an existing ``folder``."""
    domain = model.domain
    stored = {
        "format": FORMAT,
        "name": model.name,
        "version": model.version,
        "teachers": list(model.teachers),
        "features": list(FEATURES),
        "weights": [float(f"{one:.6g}") for one in model.weights],
        "trees": {name: getattr(model.trees, name).tolist() for name in _TREES},
        "slope": model.slope,
        "stderr": model.stderr,
        "domain": {
            "scripts": sorted(domain.scripts),
            "tools": sorted(domain.tools),
            "shortest": domain.shortest,
            "longest": domain.longest,
            "terms": sorted(domain.terms),
            "familiar": domain.familiar,
        },
    }
    (folder / MODEL_FILE).write_text(json.dumps(stored) + "\n", encoding="utf-8")


def is_local_judge(folder: Path) -> bool:
    """Return whether a folder holds a judge that ``calipers distill`` made, of any version, whole or damaged."""
    try:
        with (folder / MODEL_FILE).open("rb") as file:
            return b'"format": "calipers-local-judge/' in file.read(200)
    except OSError:
        return False


def read_model(folder: str | Path) -> Stored:
    """Return the local judge in ``folder``. Raises ConfigError, in one sentence, for anything else."""
    remedy = f"`calipers distill LEDGER -o {folder}` makes one"
    try:
        with (Path(folder) / MODEL_FILE).open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigError(
            f"local:{folder}: there is no local judge ({MODEL_FILE}: {error.strerror or error}); {remedy}"
        ) from None
    if len(data) > _LARGEST:
        raise ConfigError(f"local:{folder}: {MODEL_FILE} is larger than any model of a judge; {remedy}")
    try:
        stored = _object(json.loads(data))
        if stored.get("format") != FORMAT:
            raise ConfigError(f"local:{folder}: {MODEL_FILE} is not of the format {FORMAT}; make the judge anew")
        if stored["features"] != list(FEATURES):
            raise ConfigError(
                f"local:{folder}: was made by another version of calipers, with other features; make the judge anew"
            )
        return _stored(stored, hashlib.sha256(data).hexdigest())
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise ConfigError(
            f"local:{folder}: {MODEL_FILE} is damaged ({type(error).__name__}: {error!s:.80}); make the judge anew"
        ) from None


def _stored(stored: Mapping[str, Any], digest: str) -> Stored:
    weights = np.array(_numbers(stored["weights"], _COLUMNS), dtype=np.float64)
    model = Model(
        name=_text(stored["name"]),
        version=_whole(stored["version"]),
        teachers=tuple(_text(one) for one in stored["teachers"]),
        weights=weights,
        trees=_forest(_object(stored["trees"])),
        slope=_number(stored["slope"]),
        stderr=_number(stored["stderr"]),
        domain=_domain(_object(stored["domain"])),
    )
    return Stored(model, digest)


def _domain(stored: Mapping[str, Any]) -> Domain:
    scripts, tools = stored["scripts"], stored["tools"]
    terms = [_whole(one) for one in stored["terms"]]
    if not set(scripts) <= _SCRIPTS or not all(isinstance(one, bool) for one in tools):
        raise ValueError("unknown scripts or tools")
    if any(not 0 <= one < TERMS for one in terms):
        raise ValueError("a term is out of range")
    return Domain(
        frozenset(scripts),
        frozenset(tools),
        _number(stored["shortest"]),
        _number(stored["longest"]),
        frozenset(terms),
        _number(stored["familiar"]),
    )


def _forest(stored: Mapping[str, Any]) -> Forest:
    """Return trees whose children come after their parents, so that evaluating them ends."""
    if not stored["features"]:
        return no_trees()
    size = len(stored["features"][0])
    features, lefts, rights = (
        np.array([[_whole(one) for one in row] for row in stored[name]], dtype=np.int64)
        for name in ("features", "lefts", "rights")
    )
    thresholds, values = (
        np.array([_numbers(row, size) for row in stored[name]], dtype=np.float64) for name in ("thresholds", "values")
    )
    found = Forest(features, thresholds, lefts, rights, values)
    inner, node = features >= 0, np.arange(size)
    if len({getattr(found, name).shape for name in _TREES}) > 1 or (features >= _COLUMNS).any():
        raise ValueError("the arrays of the trees do not belong together")
    if any(((side <= node) | (side >= size))[inner].any() for side in (lefts, rights)):
        raise ValueError("a node of a tree leads nowhere")
    return found


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("an object is missing")
    return value


def _numbers(value: Sequence[object], count: int) -> list[float]:
    found = [_number(one) for one in value]
    if len(found) != count:
        raise ValueError(f"{len(found)} numbers where {count} belong")
    return found


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("a whole number is missing")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError("a name is missing")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a number is missing or not finite")
    return float(value)
