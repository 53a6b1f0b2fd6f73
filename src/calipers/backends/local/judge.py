"""The local judge: a weighted sum of features that agrees with another judge, the groups it may judge, and its file.

The sum is a relative score. Groups unlike those that it was trained on are abstained. Reading a model runs nothing: it
is JSON, and every field is checked.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from calipers.backends.embedded import FeatureJudge, Opinion, free_error
from calipers.backends.local.features import FEATURES, LENGTH, TERMS, Array, MeasuredGroup, measure_group
from calipers.errors import ConfigError
from calipers.types import RenderedGroup

FORMAT: Final = "calipers-local-judge/4"
MODEL_FILE: Final = "model.json"
_ROOM: Final = 0.7
"""How far the mean log length of a group may be beyond the training groups': a factor of two."""
_LARGEST: Final = 20_000_000
"""Bytes of a model file; none that calipers writes has a tenth of it."""
_NAMED: Final = 3
_NEGLIGIBLE: Final = 0.05
_WARNING: Final = (
    "scored by the local judge {name}, trained to agree with {teachers}: it ignores the rubric, shares its teacher's "
    "mistakes, and is easier to game; read its card.md"
)


# --- the model --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Domain:
    """What a local judge's training groups were like.

    ``tools`` says whether candidates used tools in some (True) and in none (False). ``shortest`` and ``longest`` bound
    the mean of log(words + 1) over a group's answers. ``terms`` are hashes of the stems in their tasks, and
    ``familiar`` is the least share of a task's stems that has to be among them.
    """

    tools: frozenset[bool]
    shortest: float
    longest: float
    terms: frozenset[int]
    familiar: float

    def why_outside(self, group: MeasuredGroup) -> str | None:
        """Return why a local judge must not judge a group, in words, or None if it may."""
        if group.has_tools not in self.tools:
            used = "use tools" if group.has_tools else "use no tools"
            return f"the candidates {used}, unlike those that it learned from"
        length = _mean_length(group)
        if not self.shortest - _ROOM <= length <= self.longest + _ROOM:
            return f"the answers are much {'longer' if length > self.longest else 'shorter'} than those it learned from"
        known = familiarity(group.task_terms, self.terms)
        if known < self.familiar:
            return f"only {known:.0%} of the task's words occur in the tasks that it learned from"
        return None


def _mean_length(group: MeasuredGroup) -> float:
    """Return the mean of log(words + 1) over the answers of a group."""
    return float(group.values[:, LENGTH].mean()) if len(group.values) else 0.0


def familiarity(terms: AbstractSet[int], known: AbstractSet[int]) -> float:
    """Return the share of a task's stems that a local judge knows; 1 for a task without words."""
    return len(terms & known) / len(terms) if terms else 1.0


def learn_domain(groups: Sequence[MeasuredGroup], held_out: Sequence[float]) -> Domain:
    """Return the domain of a local judge's training groups.

    ``held_out`` are the familiarities of their tasks, each to the tasks of other folds. A task as unfamiliar as the one
    in a hundred that is least familiar is outside.
    """
    lengths = [_mean_length(group) for group in groups]
    return Domain(
        tools=frozenset(group.has_tools for group in groups),
        shortest=float(np.percentile(lengths, 0.5)),
        longest=float(np.percentile(lengths, 99.5)),
        terms=frozenset[int]().union(*(group.task_terms for group in groups)),
        familiar=float(np.percentile(held_out, 1)) if len(held_out) else 0.0,
    )


@dataclass(frozen=True, slots=True)
class Model:
    """What a local judge has learned: ``weights`` of relative features, in units of the score's own.

    The score of a candidate is 0.5 + ``slope`` * weighted sum, on a scale of 0 to 1, so that the differences in a group
    are those that the teacher's scores are expected to have. ``stderr`` is its standard error against the teacher,
    measured on prompts that were held out.
    """

    name: str
    teachers: tuple[str, ...]
    weights: Array
    slope: float
    stderr: float
    domain: Domain

    def scores(self, group: MeasuredGroup) -> Array:
        """Return the local judge's score of each candidate, from 0.02 to 0.98. Equal groups get equal scores."""
        return np.clip(0.5 + self.slope * (group.relative @ self.weights), 0.02, 0.98)

    def explanations(self, group: MeasuredGroup) -> list[str]:
        """Return for each candidate the features whose weights move its score most, at most three."""
        parts = group.relative * self.weights
        summed = parts[:, : len(FEATURES)] + parts[:, len(FEATURES) :]
        texts = []
        for row, places in zip(summed, np.argsort(-np.abs(summed), axis=1, kind="stable")[:, :_NAMED], strict=True):
            signed = ((i, "+" if row[i] > 0 else "-") for i in places if abs(row[i]) > _NEGLIGIBLE)
            named = [f"{sign} {FEATURES[i].replace('_', ' ')}" for i, sign in signed]
            texts.append(", ".join(named) or "little sets it apart from its siblings")
        return texts


# --- its file ---------------------------------------------------------------------------------------------------------


def write_model(folder: Path, model: Model) -> None:
    """Write a local judge's model into an existing ``folder``."""
    stored = {"format": FORMAT, "features": FEATURES, **asdict(model)}
    stored["weights"] = [float(f"{weight:.6g}") for weight in model.weights]
    stored["domain"] |= {name: sorted(getattr(model.domain, name)) for name in ("tools", "terms")}
    (folder / MODEL_FILE).write_text(json.dumps(stored) + "\n", encoding="utf-8")


def read_model(folder: str | Path) -> tuple[Model, str]:
    """Return the local judge in ``folder`` and a digest of its file. Raises ConfigError for anything else."""
    where, remedy = (
        f"local:{folder}: {MODEL_FILE}",
        f"`calipers distill LEDGER -o {folder} --force` makes the judge anew",
    )
    try:
        with (Path(folder) / MODEL_FILE).open("rb") as file:
            data = file.read(_LARGEST + 1)
    except NotADirectoryError:
        raise ConfigError(
            f"local:{folder} is a file: name the folder of a judge that `calipers distill LEDGER -o FOLDER` made"
        ) from None
    except OSError as error:
        raise ConfigError(f"{where} cannot be read ({error.strerror or error}); {remedy}") from None
    try:
        stored = json.loads(data)
        made_by = stored["format"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ConfigError(f"{where} is not the model of a local judge; {remedy}") from None
    if made_by != FORMAT:
        raise ConfigError(f"{where} is of another version of calipers; {remedy}")
    try:
        return _checked_model(stored), hashlib.sha256(data).hexdigest()
    except KeyError as error:
        raise ConfigError(f"{where} is damaged: {error.args[0]} is missing; {remedy}") from None
    except (ValueError, TypeError, OverflowError) as error:
        raise ConfigError(f"{where} is damaged ({error!s:.80}); {remedy}") from None


def _checked_model(stored: dict[str, Any]) -> Model:
    """Return the model in a local judge's file. Raises one of several errors if a field is missing or odd."""
    domain, weights = stored["domain"], stored["weights"]
    bounds = [domain[name] for name in ("shortest", "longest", "familiar")]
    numbers = [stored["slope"], stored["stderr"], *weights, *bounds]
    if stored["features"] != list(FEATURES) or len(weights) != 2 * len(FEATURES):
        raise ValueError("other features than those of this version")
    if not all(type(number) in {int, float} and math.isfinite(number) for number in numbers):
        raise ValueError("a number is missing or not finite")
    if not all(isinstance(name, str) and name for name in [stored["name"], *stored["teachers"]]):
        raise ValueError("a name is missing")
    if not all(type(term) is int and 0 <= term < TERMS for term in [*domain["terms"]]):
        raise ValueError("a term is out of range")
    sets = {name: frozenset(domain[name]) for name in ("tools", "terms")}
    return Model(
        stored["name"],
        tuple(stored["teachers"]),
        np.array(weights, dtype=np.float64),
        stored["slope"],
        stored["stderr"],
        Domain(shortest=bounds[0], longest=bounds[1], familiar=bounds[2], **sets),
    )


# --- the judge --------------------------------------------------------------------------------------------------------


class Local(FeatureJudge):
    """A Backend that scores a group by the local judge in a folder.

    A group unlike those that the model was trained on is refused, so that its candidates are abstained. ``model`` holds
    a digest of the folder, so that a ledger never reuses another model's answers. Raises ConfigError for a folder
    without a sound model.
    """

    endpoint = "local"

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self._model, digest = read_model(folder)
        self.stderr = self._model.stderr
        self.model = f"{self._model.name}@{digest[:12]}"
        teachers, more = self._model.teachers, len(self._model.teachers) - 3
        shown = ", ".join(teachers[:3]) + (f" and {more} more" if more > 0 else "")
        self.warnings = (_WARNING.format(name=self._model.name, teachers=shown),)

    def judge_group(self, view: RenderedGroup) -> Sequence[Opinion]:
        """Return the local judge's score and explanation of each candidate.

        Raises PermanentError for a group outside the model's domain.
        """
        group = measure_group(view)
        if (outside := self._model.domain.why_outside(group)) is not None:
            raise free_error("refused", f"outside what the local judge {self._model.name} learned: {outside}")
        scores = [float(score) for score in self._model.scores(group)]
        return list(zip(scores, self._model.explanations(group), strict=True))
