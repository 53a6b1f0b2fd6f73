"""Makes a local judge: reads groups, fits and measures a model, writes the folder. See ``distill``."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from calipers.backends.local.domain import familiarity
from calipers.backends.local.files import read_model
from calipers.backends.local.model import Model
from calipers.distilling import FORMS, Distilled, Form
from calipers.distilling.figures import agreement, honesty, parts, tricks
from calipers.distilling.findings import findings_of
from calipers.distilling.folder import FIGURES, require_usable, write_embedded, write_folder
from calipers.distilling.groups import Training, TrainingGroup
from calipers.distilling.pairs import LEARN_FROM, LearnFrom
from calipers.distilling.signed import fit_signed, hold_out_signed
from calipers.distilling.sources import MOST_GROUPS, read_training
from calipers.distilling.stored import read_groups_of
from calipers.distilling.training import (
    HeldOut,
    Scaling,
    empty_model,
    finished,
    fit_model,
    fit_scaling,
    fold_of,
    hold_out,
)
from calipers.distilling.tricks import adversarial_groups
from calipers.errors import ConfigError, InputError
from calipers.render import render

_TIMED: Final = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of ``distill`` that decide what a local judge becomes."""

    name: str
    form: Form
    teachers: tuple[str, ...]
    learn_from: LearnFrom
    train_attacks: bool
    update: bool
    version: int
    model: str | None
    run: int | None
    format: str | None


def make(
    sources: Sequence[str],
    out: Path,
    plan: Plan,
    *,
    force: bool,
    on_error: Callable[[InputError], None] | None,
) -> Distilled:
    """Make a local judge of ``sources`` in ``out``. Raises as ``distill``."""
    _require_possible(sources, plan)
    require_usable(out, force=force)
    before = _judge_before(out, plan)
    read = read_training(
        sources,
        teachers=plan.teachers,
        learn_from=plan.learn_from,
        run=plan.run,
        format=plan.format,
        on_error=on_error,
    )
    training = _with_earlier(read, out, before)
    _require_groups(training)
    if plan.form == "embedded":
        return _make_embedded(training, out, plan)
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        trained = _encoder(training, plan, Path(folder)) if plan.model else _features(training, plan)
        scaling = fit_scaling(trained.measured, trained.held_out.raw)
        model = replace(
            finished(trained.model, training.groups, trained.held_out, scaling),
            name=before.name if before else plan.name,
            version=before.version + 1 if before else 1,
            teachers=tuple(training.teachers),
        )
        what = f"a cross-encoder of {plan.model}" if plan.model else "a weighted sum of features and small trees"
        named = {"name": model.name, "version": model.version, "model": what}
        figures = _figures(training, plan, named, trained, scaling)
        figures |= _local_figures(training, trained, scaling)
        figures["seconds"] = time.process_time() - started
        encoder = None if trained.encoder is None else (Path(folder), trained.encoder)
        written = write_folder(out, model, training.groups, figures, encoder=encoder)
    return Distilled(out, model.title, written, f"local:{out}")


def _make_embedded(training: Training, out: Path, plan: Plan) -> Distilled:
    """Make a judge of the embedded form; equal sources give equal bytes, so the card has no times."""
    groups = training.groups
    adversarial = adversarial_groups(groups) if plan.train_attacks else []
    held_out = hold_out_signed(groups, plan.learn_from, adversarial)
    model = replace(fit_signed(groups, plan.learn_from, adversarial), name=plan.name, version=plan.version)
    named = {"name": model.name, "version": model.version, "model": f"{len(model.weights)} weights with fixed signs"}
    trained = _Trained(empty_model(), groups, held_out)
    figures = _figures(training, plan, named, trained, fit_scaling(groups, held_out.raw))
    return Distilled(out, model.title, write_embedded(out, model, figures), f"embedded:{out}")


@dataclass(frozen=True, slots=True, eq=False)
class _Trained:
    """A model without scale, and what it or its like say about the groups in ``measured``, which were held out.

    ``encoder`` are the settings of a cross-encoder; without one, the features are the model.
    """

    model: Model
    measured: list[TrainingGroup]
    held_out: HeldOut
    encoder: dict[str, Any] | None = None


def _features(training: Training, plan: Plan) -> _Trained:
    """Train on features: five models for the figures, each without a fifth of the prompts, and one on all groups."""
    adversarial = adversarial_groups(training.groups) if plan.train_attacks else []
    held_out = hold_out(training.groups, plan.learn_from, adversarial)
    return _Trained(fit_model(training.groups, plan.learn_from, adversarial), training.groups, held_out)


def _encoder(training: Training, plan: Plan, folder: Path) -> _Trained:
    """Train one cross-encoder without a fifth of the prompts, which it is measured on: five would take too long."""
    from calipers.distilling.cross_encoder import train_encoder  # noqa: PLC0415 - imports torch when it runs

    groups, fold = training.groups, fold_of(training.groups)
    inside = [one for one, own in zip(groups, fold, strict=True) if own != 0]
    outside = [one for one, own in zip(groups, fold, strict=True) if own == 0]
    of_source = {one.source for one in inside}
    adversarial = adversarial_groups(groups) if plan.train_attacks else []
    extra = [one for one in adversarial if one.source in of_source]
    scorer, settings = train_encoder(plan.model or "", [*inside, *extra], plan.learn_from, folder)
    raw = tuple(scorer(render(one.group)) for one in outside if one.group is not None)
    terms = frozenset[int]().union(*(one.measured.task_terms for one in inside))
    known = tuple(familiarity(one.measured.task_terms, terms) for one in outside)
    held_out = HeldOut((scorer,), np.zeros(len(outside), dtype=np.int64), raw, known)
    return _Trained(empty_model(), outside, held_out, settings)


def _require_possible(sources: Sequence[str], plan: Plan) -> None:
    if plan.form not in FORMS:
        raise ConfigError(f"form={plan.form!r}: it must be one of {', '.join(FORMS)}")
    if plan.form == "embedded" and (plan.model is not None or plan.update):
        option = "--model" if plan.model is not None else "--update"
        raise ConfigError(f"--form embedded is a few weights, fitted anew from all sources: leave {option} out")
    if plan.version != 1 and plan.form != "embedded":
        raise ConfigError("--version is for --form embedded; --update counts the versions of a local judge")
    if plan.version < 1:
        raise ConfigError(f"--version {plan.version}: must be 1 or more")
    if plan.model is not None and plan.update:
        raise ConfigError("--update learns from stored features, and a cross-encoder from texts: leave one of them out")
    if not sources:
        raise ConfigError("name what to learn from: a ledger, or a groups file and a judgments file")
    if plan.learn_from not in LEARN_FROM:
        raise ConfigError(f"learn_from={plan.learn_from!r}: it must be one of {', '.join(LEARN_FROM)}")
    if not plan.name or not plan.name.replace("-", "").replace("_", "").isalnum() or len(plan.name) > 60:
        raise ConfigError(f"--name {plan.name!r}: a name is letters, digits, - and _, at most 60")


def _judge_before(out: Path, plan: Plan) -> Model | None:
    if not plan.update:
        return None
    found = read_model(out)
    if found.encoder is not None:
        raise ConfigError(f"--update: the judge in {out} is a cross-encoder; distil it anew from all ledgers")
    return found.model


def _with_earlier(read: Training, out: Path, before: Model | None) -> Training:
    """Return the training groups that were read, after those that the local judge to update has."""
    if before is None:
        return read
    fresh = {one.digest for one in read.groups}
    earlier = [one for one in read_groups_of(out) if one.digest not in fresh]
    teachers = list(dict.fromkeys([*before.teachers, *read.teachers]))
    if not read.groups:
        raise InputError(f"no group to learn from{_left_out(read)}; the judge in {out} stays as it is")
    return Training([*earlier, *read.groups][-MOST_GROUPS:], teachers, read.left_out)


def _require_groups(training: Training) -> None:
    if not training.groups:
        raise InputError(
            f"no group to learn from{_left_out(training)}; a local judge learns from groups whose scores differ, by "
            "judges that are not local themselves"
        )


def _left_out(training: Training) -> str:
    found = ", ".join(f"{count:,} {reason}" for reason, count in training.left_out.items())
    return f" ({found})" if found else ""


def _figures(
    training: Training, plan: Plan, named: Mapping[str, Any], trained: _Trained, scaling: Scaling
) -> dict[str, Any]:
    groups, measured, held_out = training.groups, trained.measured, trained.held_out
    figures: dict[str, Any] = {
        **named,
        "form": plan.form,
        "teachers": training.teachers,
        "learn_from": plan.learn_from,
        "train_attacks": plan.train_attacks,
        "groups": len(groups),
        "prompts": len({one.source for one in groups}),
        "candidates": sum(len(one.teacher) for one in groups),
        "left_out": training.left_out,
        "slope": scaling.slope,
        "agreement": agreement(measured, held_out, training.teachers),
        "parts": parts(measured, held_out),
        "tricks": tricks(measured, held_out),
    }
    return {**figures, "findings": findings_of(training, figures)}


def _local_figures(training: Training, trained: _Trained, scaling: Scaling) -> dict[str, Any]:
    """Return the figures that a local judge has and one of the embedded form has not: standard errors, and speed."""
    return {
        "stderr": scaling.stderr,
        "honesty": honesty(trained.measured, trained.held_out),
        "per_second": _per_second(trained.held_out, training.groups),
    }


def _per_second(held_out: HeldOut, groups: Sequence[TrainingGroup]) -> float | None:
    """Return how many trajectories a local judge scores in a second of CPU, without rendering them."""
    views = [render(one.group) for one in groups if one.group is not None][:_TIMED]
    if not views:
        return None
    started = time.process_time()
    for view in views:
        held_out.scorers[0](view)
    return sum(len(view.ids) for view in views) / max(time.process_time() - started, 1e-9)


def figures_of(folder: str | Path) -> dict[str, Any]:
    """Return the figures on the card of the local judge in ``folder``. Raises ConfigError if there are none."""
    try:
        found = json.loads((Path(folder) / FIGURES).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{folder}: its {FIGURES} cannot be read ({error!s:.100})") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{folder}: its {FIGURES} is no object")
    return found
