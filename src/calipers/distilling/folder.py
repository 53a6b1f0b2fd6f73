"""Writes a local judge's folder: each file whole or not at all, the model last, so that a crash leaves the old judge.

Not responsible for what is in the files (``card``, ``stored``, ``backends.local.files``).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from calipers.backends.embedded.model import MODEL_FILE
from calipers.backends.embedded.model import Model as EmbeddedModel
from calipers.backends.embedded.model import write_model as write_embedded_model
from calipers.backends.local.files import ENCODER_FOLDER, is_local_judge, write_model
from calipers.backends.local.model import Model
from calipers.distilling.card import card_text
from calipers.distilling.groups import TrainingGroup
from calipers.distilling.stored import TRAINING_FILE, write_groups
from calipers.errors import ConfigError

CARD: Final = "card.md"
FIGURES: Final = "card.json"


def require_usable(folder: Path, *, force: bool) -> None:
    """Raise ConfigError if writing a local judge to ``folder`` would replace something else."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--out {folder}: is a file; name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not is_local_judge(folder) and not force:
        raise ConfigError(
            f"--out {folder}: holds something else than a local judge, so it is not written to; name another folder, "
            "or write to it with --force"
        )


def write_folder(
    folder: Path,
    model: Model,
    groups: Sequence[TrainingGroup],
    figures: Mapping[str, Any],
    *,
    encoder: tuple[Path, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Write a local judge with its card and training groups; return the figures with their size in ``bytes``.

    ``encoder`` is a folder with a trained cross-encoder, and its settings. Raises ConfigError if it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as name:
            made = Path(name)
            write_model(made, model, encoder=None if encoder is None else encoder[1])
            write_groups(made / TRAINING_FILE, groups)
            size = sum((made / one).stat().st_size for one in (MODEL_FILE, TRAINING_FILE))
            if encoder is not None:
                size += sum(one.stat().st_size for one in encoder[0].iterdir())
            whole = {**figures, "bytes": size}
            _write_card(made, model.title, whole)
            _replace_encoder(folder, encoder)
            for one in (TRAINING_FILE, FIGURES, CARD, MODEL_FILE):
                os.replace(made / one, folder / one)  # noqa: PTH105 - the same call on every system
    except OSError as error:
        raise ConfigError(f"--out {folder}: cannot be written ({error.strerror or error})") from error
    return whole


def write_embedded(folder: Path, model: EmbeddedModel, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Write a judge of the embedded form with its card; return the figures with the size of the model in ``bytes``.

    Files of a local judge that was there before are removed. Raises ConfigError if it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".writing-") as name:
            made = Path(name)
            write_embedded_model(made, model)
            whole = {**figures, "bytes": (made / MODEL_FILE).stat().st_size}
            _write_card(made, model.title, whole)
            _replace_encoder(folder, None)
            (folder / TRAINING_FILE).unlink(missing_ok=True)
            for one in (FIGURES, CARD, MODEL_FILE):
                os.replace(made / one, folder / one)  # noqa: PTH105 - the same call on every system
    except OSError as error:
        raise ConfigError(f"--out {folder}: cannot be written ({error.strerror or error})") from error
    return whole


def _write_card(folder: Path, title: str, figures: Mapping[str, Any]) -> None:
    (folder / CARD).write_text(card_text(title, figures), encoding="utf-8")
    (folder / FIGURES).write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _replace_encoder(folder: Path, encoder: tuple[Path, Mapping[str, Any]] | None) -> None:
    own = folder / ENCODER_FOLDER
    if own.is_dir():
        shutil.rmtree(own)
    if encoder is not None:
        shutil.copytree(encoder[0], own)
