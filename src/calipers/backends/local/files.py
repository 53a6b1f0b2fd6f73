"""Reads and writes the folder of a local judge. Reading runs nothing: the model is JSON, checked field by field.

Not responsible for the card and the training groups beside the model (``calipers.distilling``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from calipers.backends.embedded.model import FORMAT as EMBEDDED_FORMAT
from calipers.backends.embedded.model import MODEL_FILE, model_data, stored_number
from calipers.backends.local.domain import Domain
from calipers.backends.local.features import FEATURES, TERMS
from calipers.backends.local.model import Forest, Model, no_trees
from calipers.errors import ConfigError

FORMAT: Final = "calipers-local-judge/1"
_LARGEST: Final = 20_000_000
"""Bytes of a model file; none that calipers writes has a tenth of it."""
_TREES: Final = ("features", "thresholds", "lefts", "rights", "values")
_COLUMNS: Final = 2 * len(FEATURES)
_SCRIPTS: Final = frozenset({"", "latin", "unspaced", "other"})


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
    """Return whether a folder holds a judge that ``calipers distill`` made, of any form and version, whole or
    damaged.
    """
    try:
        with (folder / MODEL_FILE).open("rb") as file:
            start = file.read(200)
    except OSError:
        return False
    return any(b'"format": "calipers-%s-judge/' % form in start for form in (b"local", b"embedded"))


def read_model(folder: str | Path) -> Stored:
    """Return the local judge in ``folder``. Raises ConfigError, in one sentence, for anything else."""
    data, digest = model_data(folder, "local", f"`calipers distill LEDGER -o {folder}` makes one", _LARGEST)
    try:
        stored = _object(json.loads(data))
        if stored.get("format") != FORMAT:
            if stored.get("format") == EMBEDDED_FORMAT:
                raise ConfigError(f"local:{folder}: holds a judge of the embedded form; its name is embedded:{folder}")
            raise ConfigError(f"local:{folder}: {MODEL_FILE} is not of the format {FORMAT}; make the judge anew")
        if stored["features"] != list(FEATURES):
            raise ConfigError(
                f"local:{folder}: was made by another version of calipers, with other features; make the judge anew"
            )
        return _stored(stored, digest)
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
        slope=stored_number(stored["slope"]),
        stderr=stored_number(stored["stderr"]),
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
        stored_number(stored["shortest"]),
        stored_number(stored["longest"]),
        frozenset(terms),
        stored_number(stored["familiar"]),
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
    found = [stored_number(one) for one in value]
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
