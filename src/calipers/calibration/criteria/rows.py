"""Read rows of a meta-evaluation: a completion, one criterion, and people's labels (HealthBench's schema).

``{"prompt": [messages], "completion": "...", "rubric": "...", "binary_labels": [true, false],
"anonymized_physician_ids": ["a", "b"], "category": "..."}``, one per line.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from calipers.errors import InputError
from calipers.inputs.messages import canonical
from calipers.inputs.plain import type_in_words
from calipers.inputs.records import convert_rows, decompressed_stream, json_line_rows, read_json_lines
from calipers.types import Message

_SHAPE: Final = (
    '{"prompt": [...], "completion": "...", "rubric": "...", "binary_labels": [true, false], '
    '"anonymized_physician_ids": ["a", "b"], "category": "..."}'
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A criterion (``rubric``) of a completion with people's labels and their annotators; ``line`` is counted from 1.

    There are as many ``annotators`` as ``labels``, or none if the row does not name them.
    """

    line: int
    prompt: tuple[Message, ...]
    completion: str
    rubric: str
    labels: tuple[bool, ...]
    annotators: tuple[str, ...] = ()
    category: str | None = None
    unit: str = field(init=False, repr=False, compare=False)
    """An id of the conversation and its completion, which several rows may share."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", _digest([dict(one) for one in self.prompt], self.completion))

    @property
    def item(self) -> str:
        """An id of the completion and the criterion, by which a recorded verdict is assigned to its row."""
        return _digest(self.unit, self.rubric)


def is_labelled(path: str | os.PathLike[str]) -> bool:
    """Return whether the first readable line of a calibration file is a labelled row, not a group."""
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below
    except OSError:
        return False  # reading the file reports the error
    with stream:
        first = next(
            (value for _, value in json_line_rows(decompressed_stream(stream)) if isinstance(value, dict)),
            {},
        )
    return "binary_labels" in first and "completion" in first


def read_labelled(
    path: str | os.PathLike[str], *, on_error: Callable[[InputError], None] | None = None
) -> Iterator[Labelled]:
    """Yield calibration's labelled rows of a ``.jsonl`` or ``.jsonl.gz`` file, in order.

    A bad row is passed to ``on_error`` as an InputError with file, line and field, and skipped; without ``on_error``,
    it is raised.
    """
    yield from convert_rows(read_json_lines(path), as_labelled, source=os.fspath(path), on_error=on_error)


def as_labelled(value: Mapping[str, Any] | str, line: int = 1) -> Labelled:
    """Convert a row of plain data, with people's labels, to a ``Labelled`` for calibration.

    Raises InputError that names the field.
    """
    if isinstance(value, str):
        raise InputError(value)
    labels = _list(value, "binary_labels")
    if not labels or not all(isinstance(one, bool) for one in labels):
        raise InputError(f"binary_labels: must list true or false, at least one, not {labels!r:.60}")
    annotators = [] if value.get("anonymized_physician_ids") is None else _list(value, "anonymized_physician_ids")
    if annotators and len(annotators) != len(labels):
        raise InputError(
            f"anonymized_physician_ids: {len(annotators)} for {len(labels)} binary_labels; one is needed for each"
        )
    if len(set(map(str, annotators))) < len(annotators):
        raise InputError("anonymized_physician_ids: contains an id twice, but each annotator labels a row once")
    category = value.get("category")
    if category is not None and not isinstance(category, str):
        raise InputError(f"category: must be text, not {type_in_words(category)}")
    return Labelled(
        line,
        _prompt(value.get("prompt")),
        _text(value, "completion"),
        _text(value, "rubric"),
        tuple(labels),
        tuple(map(str, annotators)),
        category,
    )


def _prompt(prompt: Any) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    if not isinstance(prompt, list):
        raise InputError(f"prompt: must be messages or text, not {type_in_words(prompt)}; expected {_SHAPE}")
    return canonical(prompt, where="prompt: ")


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not text.strip():
        said = "is missing" if text is None else "is empty" if isinstance(text, str) else f"is {type_in_words(text)}"
        raise InputError(f"{name}: {said}; expected {_SHAPE}")
    return text


def _list(value: Mapping[str, Any], name: str) -> Sequence[Any]:
    listed = value.get(name)
    if not isinstance(listed, list):
        raise InputError(f"{name}: must be a list, not {type_in_words(listed)}; expected {_SHAPE}")
    return listed


def _digest(*parts: object) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
