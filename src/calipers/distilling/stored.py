"""Stores a local judge's training groups beside it, as numbers without any text, so that more can be learned later.

Reading runs nothing: arrays are read without pickle. Not responsible for the model's own file (``backends.local``).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from calipers.backends.local.features import FEATURES, MeasuredGroup
from calipers.distilling.groups import TrainingGroup
from calipers.errors import ConfigError

TRAINING_FILE: Final = "training.npz"
_SCRIPTS: Final = ("", "latin", "unspaced", "other")
_NAMES: Final = frozenset(
    ("sizes", "values", "copies", "teacher", "stderr", "gold", "sources", "digests", "scripts", "tools", "terms",
     "term_counts")
)  # fmt: skip


def write_groups(path: Path, groups: Sequence[TrainingGroup]) -> None:
    """Write training groups to ``path``: their features in half precision, scores, and hashes of prompts."""
    measured = [one.measured for one in groups]
    arrays: dict[str, Any] = {
        "sizes": np.array([len(one.teacher) for one in groups], dtype=np.int32),
        "values": np.vstack([one.values for one in measured]).astype(np.float16),
        "copies": np.concatenate([one.copies for one in measured]).astype(np.int32),
        "teacher": np.concatenate([one.teacher for one in groups]).astype(np.float32),
        "stderr": np.concatenate([one.stderr for one in groups]).astype(np.float32),
        "gold": np.concatenate([one.gold for one in groups]).astype(np.float32),
        "sources": np.array([one.source for one in groups]),
        "digests": np.array([one.digest for one in groups]),
        "scripts": np.array([_SCRIPTS.index(one.script) for one in measured], dtype=np.int8),
        "tools": np.array([one.has_tools for one in measured]),
        "terms": np.array([term for one in measured for term in sorted(one.task_terms)], dtype=np.uint16),
        "term_counts": np.array([len(one.task_terms) for one in measured], dtype=np.int32),
    }
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_groups_of(folder: Path) -> list[TrainingGroup]:
    """Return the training groups of the local judge in ``folder``. Raises ConfigError for anything else."""
    path = folder / TRAINING_FILE
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in _NAMES}
        return list(_groups(arrays))
    except OSError as error:
        problem = error.strerror or str(error)
    except (ValueError, KeyError, TypeError, IndexError, zipfile.BadZipFile, EOFError) as error:
        problem = f"damaged: {type(error).__name__}: {error!s:.80}"
    raise ConfigError(f"--update: {path} cannot be read ({problem}); distil the judge anew from all ledgers")


def _groups(arrays: Mapping[str, Any]) -> Iterator[TrainingGroup]:
    sizes, counts = arrays["sizes"], arrays["term_counts"]
    ends, term_ends = np.cumsum(sizes), np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    if arrays["values"].shape != (total, len(FEATURES)) or len(arrays["terms"]) != int(counts.sum()):
        raise ValueError("the arrays do not belong together, or come from another version of calipers")
    for place, (end, size) in enumerate(zip(ends, sizes, strict=True)):
        inside = slice(int(end - size), int(end))
        terms = arrays["terms"][int(term_ends[place] - counts[place]) : int(term_ends[place])]
        measured = MeasuredGroup(
            arrays["values"][inside].astype(np.float64),
            tuple(int(one) for one in arrays["copies"][inside]),
            frozenset(int(one) for one in terms),
            _SCRIPTS[int(arrays["scripts"][place])],
            bool(arrays["tools"][place]),
        )
        teacher, stderr, gold = (arrays[name][inside].astype(np.float64) for name in ("teacher", "stderr", "gold"))
        source, digest = str(arrays["sources"][place]), str(arrays["digests"][place])
        yield TrainingGroup(measured, teacher, stderr, gold, source, digest)
