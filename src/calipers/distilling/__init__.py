"""Local judges: small models that learn from the scores of recorded judges, and judge as ``local:DIR``.

Importing this package imports nothing heavy. Not responsible for judging with one (``backends.local``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from calipers.errors import InputError

__all__ = ["FORMS", "Distilled", "Form", "distill"]

Form: TypeAlias = Literal["local", "embedded"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)


@dataclass(frozen=True, slots=True)
class Distilled:
    """A local judge that was written: its ``folder``, ``title``, ``figures``, which its card states in words, and the
    name of the ``judge`` for ``judge=`` and ``--judge``.
    """

    folder: Path
    title: str
    figures: dict[str, Any]
    judge: str


def distill(  # noqa: PLR0913 - flat options, as the command has them
    *sources: str | os.PathLike[str],
    out: str | os.PathLike[str],
    name: str = "local",
    form: Form = "local",
    version: int = 1,
    teachers: Sequence[str] = (),
    learn_from: Literal["teacher", "gold", "both"] = "both",
    train_attacks: bool = False,
    update: bool = False,
    model: str | None = None,
    run: int | None = None,
    format: str | None = None,  # noqa: A002 - what people call it
    force: bool = False,
    on_error: Callable[[InputError], None] | None = None,
) -> Distilled:
    """Train a small local judge on recorded groups, measure it on prompts that were held out, and write it to ``out``.

    ``sources`` are ledgers, or a groups file and a judgments file; to learn from gold alone, groups files are enough.
    ``form`` "embedded" makes the few weights of the embedded judge's form, of the ``version`` that you give it.
    ``teachers`` names the judges whose scores count; by default, all but local ones. ``learn_from`` says whether
    scores, gold or both are learned. ``train_attacks`` also trains against tricks. ``update`` adds the groups to those
    that the judge in ``out`` has. ``model`` is a Hugging Face model's folder or name, of which a cross-encoder is made.
    Bad lines are passed to ``on_error``, and raised without it.

    Raises ConfigError for options and folders that cannot be used, and InputError and LedgerError for sources that
    cannot be read or teach nothing.
    """
    from calipers.distilling.making import Plan, make  # noqa: PLC0415 - imports numpy

    plan = Plan(name, form, tuple(teachers), learn_from, train_attacks, update, version, model, run, format)
    return make([os.fspath(one) for one in sources], Path(out), plan, force=force, on_error=on_error)
