"""The ``scripted:FILE`` judge: answers from a JSON Lines file, through the real pipeline. For tests and demonstrations.

Each line is an answer. Exactly one of these four keys gives its content::

    {"group_id": "g1", "scores": {"a": 90, "b": 20}, "explanations": {"a": "complete"}}
    {"group_id": "g1", "text": "I would say {{a}} gets 90 and {{b}} 20"}
    {"group_id": "g1", "criteria": [{"text": "States the sum.", "points": 5}]}
    {"group_id": "g1", "error": {"kind": "rate_limited", "message": "slow down", "retry_after": 2.0}}

``scores`` and the optional ``explanations`` are by trajectory id, and become the JSON reply that a judge would write;
ids that are not in the request are ignored. In ``text``, ``{{ID}}`` becomes the key under which the judge sees
trajectory ID. ``criteria`` (a list, or a text that is the whole reply) answers only the question for criteria of a
prompt, and if there are such rows, no others answer it. ``error`` is raised; ``"fatal": true`` in it means that no
other request will be answered either. ``finish_reason``, ``reasoning`` and ``usage`` (``{"input_tokens": 1, ...}``) may
be added.

The rows of a group answer its requests in order. After the last row, that row answers all further requests. Rows
without ``group_id`` answer the groups that have no rows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, get_args

from calipers.errors import BackendError, InputError, PermanentError, TransientError
from calipers.interfaces import FullBackend
from calipers.types import Completion, FailureKind, FinishReason, JudgeRequest, Usage

_CONTENT: Final = ("scores", "text", "criteria", "error")
_KEYS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "scores": Mapping, "text": str, "criteria": (list, str), "error": Mapping, "group_id": str,
    "explanations": Mapping, "finish_reason": str, "reasoning": str, "usage": Mapping,
}  # fmt: skip
_MAY_PASS: Final = frozenset({"unreachable", "rate_limited", "server", "timeout", "bad_reply"})
_PLACEHOLDER: Final = re.compile(r"\{\{(.{1,1000}?)\}\}", re.DOTALL)

Row = Mapping[str, Any]


class Scripted(FullBackend):
    """A judge that answers from a file, or from rows in the file's form.

    Raises InputError with file and line for unusable rows. ``model`` holds a digest of the rows, so that the ledger
    never reuses answers of another script.
    """

    endpoint = "scripted"

    def __init__(self, source: str | Path | Sequence[Row]) -> None:
        if isinstance(source, (str, Path)):
            where, name, numbered = str(source), Path(source).name, list(_read(Path(source)))
        else:
            where, name, numbered = "rows", "rows", list(enumerate(source, 1))
        self._by_group: dict[str | None, list[Row]] = {}
        for number, row in numbered:
            if wrong := _why_wrong(row):
                raise InputError(wrong, source=where, line=number)
            self._by_group.setdefault(row.get("group_id"), []).append(row)
        written = json.dumps([row for _, row in numbered], sort_keys=True, default=str).encode()
        self.model = f"{name}@{hashlib.sha256(written).hexdigest()[:12]}"

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the scripted backend's answer to this request. Raises the row's error, or PermanentError if the group
        has no row.
        """
        group = request.view.group_id
        every = self._by_group.get(group) or self._by_group.get(None) or []
        writes = request.ask.cause == "criteria"
        rows = [row for row in every if ("criteria" in row) is writes] or every
        if not rows:
            raise PermanentError("not_recorded", f"The script has no answer for group {group!r}.")
        turn = request.ask.parent is not None if writes else request.ask.number  # there are two such questions at most
        row = rows[min(turn, len(rows) - 1)]
        if "error" in row:
            raise _error(row)
        return Completion(
            text=_text(row, request),
            finish_reason=row.get("finish_reason", "stop"),
            reasoning=row.get("reasoning", ""),
            model=self.model,
            usage=Usage(**row.get("usage", {})),
        )


def _text(row: Row, request: JudgeRequest) -> str:
    if "criteria" in row:
        criteria = row["criteria"]
        return criteria if isinstance(criteria, str) else json.dumps({"criteria": criteria}, ensure_ascii=False)
    view = request.view
    shown = {  # identical trajectories share a key
        view.ids[member]: key
        for key, candidate in zip(request.keys, request.ask.order, strict=True)
        for member in view.candidates[candidate].members
    }
    if "text" in row:
        # A single pass, so that placeholders inside an inserted key are not replaced.
        return _PLACEHOLDER.sub(lambda placeholder: shown.get(placeholder[1], placeholder[0]), row["text"])
    explained, scores = (
        {shown[name]: value for name, value in row.get(part, {}).items() if name in shown}
        for part in ("explanations", "scores")
    )
    return json.dumps({"explanations": explained, "scores": scores}, ensure_ascii=False)


def _error(row: Row) -> BackendError:
    stated = row["error"]
    kind, message = stated["kind"], stated.get("message", "scripted error")
    error: BackendError = PermanentError(kind, message, fatal=bool(stated.get("fatal")))
    if kind in _MAY_PASS and not stated.get("fatal"):
        error = TransientError(kind, message, retry_after=stated.get("retry_after"))
    error.usage = Usage(**row["usage"]) if "usage" in row else None
    return error


def _read(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the rows of a script with the numbers of their lines."""
    try:
        # Not splitlines, because JSON strings may hold Unicode's other line separators.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"the script cannot be read: {why}", source=str(path)) from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"not JSON: {error}", source=str(path), line=number) from error


def _why_wrong(row: Any) -> str:
    """Return what is wrong with a row of a script, or "" for a sound one."""
    if not isinstance(row, Mapping):
        return "a row is an object"
    if unknown := sorted(set(row) - _KEYS.keys()):
        return f"unknown keys {', '.join(unknown)}; known are {', '.join(sorted(_KEYS))}"
    content = [key for key in _CONTENT if key in row]
    if len(content) != 1:
        return f"a row has exactly one of {', '.join(_CONTENT)}, not {content or 'none'}"
    if wrong := next((key for key, kind in _KEYS.items() if key in row and not isinstance(row[key], kind)), None):
        return f"{wrong} has the wrong type: {type(row[wrong]).__name__}"
    allowed = [
        ("finish_reason", {row.get("finish_reason", "stop")}, get_args(FinishReason)),
        ("error.kind", {row["error"].get("kind")} if "error" in row else set(), get_args(FailureKind)),
        ("usage", set(row.get("usage", ())), [field.name for field in fields(Usage)]),
    ]
    return next((f"{name}: allowed are {', '.join(known)}" for name, values, known in allowed if values - {*known}), "")
