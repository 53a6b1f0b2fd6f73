"""Reads the rows and rollouts of trainers: prompts, messages, images, rubrics, references, steps and versions.

No text that a policy writes may end a run.
"""

from __future__ import annotations

import io
import logging
import math
import operator
import warnings
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.inputs import as_trajectory
from calipers.inputs.rubrics import plain_criteria, plain_row
from calipers.judging.judge import Judge
from calipers.rubric.dataset_standards import READ_KEYS, STANDARDS_KEYS, Standards, read_standards
from calipers.rubric.unused_standards import unread_keys
from calipers.types import Message, Rubric, Trajectory
from calipers.types.versions import version_fields

_log = logging.getLogger(__name__)

HELD_OUT: Final = "held_out"
"""The ``split`` of a group that is judged for evaluation and not trained on."""

_REFERENCE: Final = (
    "For this task there is a reference, which no attempt was shown. An attempt that agrees with it in substance is "
    "right, however it is worded:"
)
"""This text is part of the judge's prompt. A change would change ledger keys."""

UNREADABLE: Final = "unreadable"
"""The key of a trajectory's metadata with the reason why its rollout cannot be read."""

USUAL_RUBRIC_COLUMN: Final = "rubric"
"""The column whose rubrics are used if a data set has it. A column of another name was named, and is required."""

_COLUMNS: Final = STANDARDS_KEYS - {"reference", "reference_answer", "functions"} | {"rubric", "constraints"}
"""Columns whose name says that they hold rubrics or rules. References are not among them: they have a setting."""

_PNG_MODES: Final = frozenset({"1", "L", "LA", "P", "RGB", "RGBA"})
"""Image modes that PNG can store; others are converted."""


def prompt_messages(prompt: object) -> list[dict[str, Any]]:
    """Return a trainer's prompt as chat messages. Raises InputError for anything but text and messages."""
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    if isinstance(prompt, Sequence) and all(isinstance(message, Mapping) for message in prompt):
        return [dict(message) for message in prompt]
    raise InputError(f"a prompt is a {type(prompt).__name__}: it must be a text or a list of chat messages")


def assistant_message(text: str) -> Message:
    """Return the text of a completion as an assistant message."""
    return {"role": "assistant", "content": text}


def read_rollout(member: Mapping[str, Any] | str | None, position: str) -> Trajectory:
    """Return a rollout as a trajectory; one that cannot be read is logged and has no messages, so it gets no score.

    A member is a trajectory's object, or the text of an answer, or None for no answer. Without an id it gets its
    ``position``.
    """
    if member is None:
        return Trajectory(position, ())
    value = {"messages": [assistant_message(member)]} if isinstance(member, str) else member
    try:
        return as_trajectory(value, default_id=position)
    except InputError as error:
        _log.warning("a rollout cannot be read, so it is not judged: %s", error)
        return Trajectory(str(value.get("id") or position), (), metadata={UNREADABLE: str(error)})


# --- rubrics, references and rules


def rubric_text_with_reference(rubric: str, reference: str) -> str:
    """Return the rubric of a row, followed by a reference answer that the judge compares with rollouts."""
    return f"{rubric}\n\n{_REFERENCE}\n{reference}"


def is_nan(value: object) -> bool:
    """Return whether a value is NaN, as data frames show what a row lacks."""
    return isinstance(value, float) and math.isnan(value)


def rubric_with_reference(judge: Judge, rubric: Any, reference: object) -> Any:
    """Return the rubric of a group, extended by a reference answer. None, NaN and "" mean no reference.

    Only a rubric of text is extended. Criteria, of the group or of the judge, state themselves what is required.
    """
    text = judge.settings.rubric if rubric is None else rubric
    if reference is None or reference == "" or is_nan(reference) or not isinstance(text, str):
        return rubric
    return rubric_text_with_reference(text, str(reference))


def standards_of_row(row: Mapping[str, Any]) -> Standards:
    """Return the rubric, reference and rules of a row. Raises InputError, with the field, for what cannot be read."""
    keys = READ_KEYS | {"rubric"}
    return read_standards(plain_row({key: row[key] for key in keys if row.get(key) is not None}))


def rubric_of_value(value: Any, what: str) -> str | Rubric | None:
    """Return the rubric in a value of a column of a data set: text or criteria, also as JSON text.

    Criteria may be a rubric's object, a list, or an object like those of data-set rows (verl's ``reward_model``).
    Raises InputError for anything else.
    """
    try:
        read = plain_criteria(value, "rubric")
        of_row = isinstance(read, Mapping) and "criteria" not in read and not STANDARDS_KEYS.isdisjoint(read)
        return standards_of_row(read if of_row else {"rubric": read}).rubric
    except (ConfigError, InputError) as error:
        raise InputError(f"{what} is neither text nor criteria: {error}") from None


def rubric_of_row(row: object) -> str | Rubric | None:
    """Return the rubric of a row, or None, and warn of rules, which are not used.

    Raises InputError for a rubric that cannot be read.
    """
    if not isinstance(row, Mapping):
        return None
    stated = standards_of_row(row)
    if stated.rules is not None:
        warn_unused(
            f"the rules in {stated.rules.place}", "this adapter only asks a judge; calipers.Hybrid checks rules"
        )
    # Unknown keys may belong to another reward; if the row has a rubric, they do not matter.
    if stated.rubric is None and stated.rules is None:
        for note in unread_keys(row):
            warnings.warn(f"{note} (rows of the data set)", stacklevel=2)
    return stated.rubric


def read_label_of_row(label: Any) -> tuple[str | Rubric | None, Any]:
    """Return the rubric and the reference in a row's label, the only thing that some engines pass on of a row.

    A label is an answer, or JSON with a rubric, like verl's ``ground_truth``.
    """
    row = {"ground_truth": label}
    reference = standards_of_row(row).reference
    return rubric_of_row(row), None if reference is None else reference.value


def warn_unused(what: str, remedy: str) -> None:
    """Warn of something that the rows of a data set ask for and that is not used."""
    warnings.warn(f"{what} of the data set's rows: not used; {remedy}", stacklevel=3)


def warn_unused_columns(columns: Mapping[str, Any], *, used: Collection[str | None]) -> None:
    """Warn of columns whose names say that they hold rubrics or rules, but which no argument names."""
    for name in sorted(_COLUMNS - set(used)):
        column = columns.get(name)
        if not isinstance(column, list | tuple) or not column or not column[0]:
            continue
        try:
            stated = standards_of_row({name: column[0]})
            unused = name == "constraints" or stated.rubric is not None or stated.rules is not None
        except InputError:
            unused = True  # what cannot be read asks for something, too
        if unused:
            warn_unused(f"the column {name!r}", "rubric_column= names the column that rubrics are read from")


# --- the trainer's step and the policy's versions, which no judge is shown


def step_fields(step: Any, *, training: bool | None = None) -> dict[str, Any]:
    """Return the fields of a group that say when a trainer had it judged; none if the step is not known.

    ``step`` is how often the policy was updated before, from 0; ``split`` marks evaluation (``training`` is False).
    """
    try:
        number = operator.index(step)
    except TypeError:
        return {}
    if isinstance(step, bool) or number < 0:
        return {}
    return {"step": number} | ({"split": HELD_OUT} if training is False else {})


def version_metadata(*versions: Any) -> dict[str, Any]:
    """Return the field of a rollout with the policy's versions that wrote it, in order; empty if any is unknown."""
    fields = version_fields(*versions)
    return {"metadata": fields} if fields else {}


# --- Pillow images in messages, as the data URLs that judges are sent; Pillow is never imported


class Images:
    """The images of a batch, each encoded once, however many completions use it."""

    def __init__(self) -> None:
        self._urls: dict[bytes, str] = {}

    def to_urls(self, messages: Any) -> Any:
        """Return ``messages`` with data URLs in place of images; anything that is no list of messages unchanged.

        Raises InputError for an image that cannot be read.
        """
        if not isinstance(messages, list | tuple) or not any(map(_has_images, messages)):
            return messages
        return [self._message(message) if _has_images(message) else message for message in messages]

    def _message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        parts = [
            {"type": "image_url", "image_url": {"url": self._url(part["image"])}} if _is_image(part) else part
            for part in message["content"]
        ]
        return {**message, "content": parts}

    def _url(self, image: Any) -> str:
        try:
            content = f"{image.mode} {image.size} ".encode() + image.tobytes()
            key = blake2b(content, digest_size=16).digest()
            if key not in self._urls:
                written = io.BytesIO()
                (image if image.mode in _PNG_MODES else image.convert("RGB")).save(written, format="PNG")
                self._urls[key] = f"data:image/png;base64,{b64encode(written.getvalue()).decode('ascii')}"
        except (OSError, ValueError) as error:
            raise InputError(f"an image cannot be read: {error}") from error
        return self._urls[key]


def _has_images(message: Any) -> bool:
    content = message.get("content") if isinstance(message, Mapping) else None
    return isinstance(content, list) and any(map(_is_image, content))


def _is_image(part: Any) -> bool:
    image = part.get("image") if isinstance(part, Mapping) and part.get("type") == "image" else None
    return callable(getattr(image, "tobytes", None)) and callable(getattr(image, "save", None))
