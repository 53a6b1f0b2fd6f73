"""Local judges: small models that learn from the scores of recorded judges, and judge as ``local:DIR``."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from calipers.backends.local.judge import MODEL_FILE, Model, learn_domain, write_model
from calipers.distilling.card import card_text
from calipers.distilling.fitting import fit_scaling, fit_weights, hold_out
from calipers.distilling.groups import read_training
from calipers.distilling.measuring import agreement, findings_of, honesty, parts, tricks
from calipers.errors import ConfigError, InputError

__all__ = ["Distilled", "distill"]

_FIGURES: Final = "card.json"
_CARD: Final = "card.md"


@dataclass(frozen=True, slots=True)
class Distilled:
    """A local judge that was written: its ``folder``, its ``figures``, which its card states in words, and the name of
    the ``judge`` for ``judge=`` and ``--judge``.
    """

    folder: Path
    figures: dict[str, Any]
    judge: str


def distill(
    *ledgers: str | os.PathLike[str],
    out: str | os.PathLike[str],
    teachers: Sequence[str] = (),
    run: int | None = None,
    force: bool = False,
) -> Distilled:
    """Train a small local judge on recorded groups, measure it on prompts that were held out, and write it to ``out``.

    ``ledgers`` are files, or addresses of Postgres. ``teachers`` names the judges whose scores count; by default, all
    but local and embedded ones. ``run`` is the number of the run to read of a ledger, by default all. The judge has the
    folder's name.

    Raises ConfigError for options and folders that cannot be used, and InputError and LedgerError for ledgers that
    cannot be read or teach nothing.
    """
    if not ledgers:
        raise ConfigError("name what to learn from: a ledger, such as OUT.ledger.db of calipers score")
    folder = Path(out)
    _require_usable(folder, force=force)
    training = read_training([os.fspath(ledger) for ledger in ledgers], teachers=teachers, run=run)
    groups = training.groups
    if not groups:
        left_out = ", ".join(
            f"{count:,} group{'s' * (count > 1)} {reason}" for reason, count in training.left_out.items()
        )
        raise InputError(
            f"{', '.join(map(str, ledgers))}: no group to learn from{f' (left out: {left_out})' if left_out else ''}; "
            "score groups with a judge that is neither local nor embedded and gives candidates different scores"
        )
    held_out = hold_out(groups)
    scaling = fit_scaling(groups, held_out.raw)
    domain = learn_domain([group.measured for group in groups], held_out.known)
    name = folder.resolve().name or "local"
    model = Model(name, tuple(training.teachers), fit_weights(groups), scaling.slope, scaling.stderr, domain)
    figures: dict[str, Any] = {
        "name": name,
        "teachers": training.teachers,
        "groups": len(groups),
        "prompts": len({group.source for group in groups}),
        "candidates": sum(len(group.teacher) for group in groups),
        "left_out": training.left_out,
        "slope": scaling.slope,
        "stderr": scaling.stderr,
        "agreement": agreement(groups, held_out),
        "parts": parts(groups, held_out),
        "honesty": honesty(groups, held_out),
        "tricks": tricks(groups, held_out),
    }
    figures["findings"] = findings_of(training, figures)
    _write(folder, model, figures)
    return Distilled(folder, figures, f"local:{folder}")


def _require_usable(folder: Path, *, force: bool) -> None:
    """Raise ConfigError if writing a local judge to ``folder`` would replace something."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--out {folder}: is a file; name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise ConfigError(
            f"--out {folder}: is not empty, so it is not written to; name another folder, or give --force"
        )


def _write(folder: Path, model: Model, figures: Mapping[str, Any]) -> None:
    """Write a local judge with its card. Each file is written whole or not at all, the model last, so that a crash
    leaves the old judge.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as name:
            scratch = Path(name)
            write_model(scratch, model)
            (scratch / _CARD).write_text(card_text(figures), encoding="utf-8")
            (scratch / _FIGURES).write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            for file in (_FIGURES, _CARD, MODEL_FILE):
                os.replace(scratch / file, folder / file)  # noqa: PTH105 - the same call on every system
    except OSError as error:
        raise ConfigError(f"--out {folder}: cannot be written ({error.strerror or error})") from error
