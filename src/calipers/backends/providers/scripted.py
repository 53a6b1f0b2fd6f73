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
from pathlib import Path
from typing import Any, Final, get_args

from calipers.errors import BackendError, InputError, PermanentError, TransientError
from calipers.interfaces import FullBackend
from calipers.types import Completion, FailureKind, FinishReason, JudgeRequest, Usage

_SAYS: Final = ("scores", "text", "criteria", "error")
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "scores": Mapping, "text": str, "criteria": (list, str), "error": Mapping, "group_id": str,
    "explanations": Mapping, "finish_reason": str, "reasoning": str, "usage": Mapping,
}  # fmt: skip
_INNER: Final[Mapping[str, set[str]]] = {
    "usage": {"input_tokens", "output_tokens", "cached_tokens", "cost_usd"},
    "error": {"kind", "message", "retry_after", "fatal"},
}
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
            if wrong := next(_row_errors(row), None):
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
            error = _error(row["error"])
            error.usage = Usage(**row["usage"]) if "usage" in row else None
            raise error
        return Completion(
            text=_text(row, request),
            finish_reason=row.get("finish_reason", "stop"),
            reasoning=row.get("reasoning", ""),
            model=self.model,
            usage=Usage(**row.get("usage", {})),
        )


def _text(row: Row, request: JudgeRequest) -> str:
    if "criteria" in row:
        told = row["criteria"]
        return told if isinstance(told, str) else json.dumps({"criteria": told}, ensure_ascii=False)
    view = request.view
    shown = {  # identical trajectories share a key
        view.ids[member]: key
        for key, candidate in zip(request.keys, request.ask.order, strict=True)
        for member in view.candidates[candidate].members
    }
    if "text" in row:
        # A single pass, so that placeholders inside an inserted key are not replaced.
        return _PLACEHOLDER.sub(lambda found: shown.get(found[1], found[0]), row["text"])
    explained, scores = (
        {shown[name]: value for name, value in row.get(part, {}).items() if name in shown}
        for part in ("explanations", "scores")
    )
    return json.dumps({"explanations": explained, "scores": scores}, ensure_ascii=False)


def _error(said: Row) -> BackendError:
    kind, message = said["kind"], said.get("message", "scripted error")
    if kind in _MAY_PASS and not said.get("fatal"):
        return TransientError(kind, message, retry_after=said.get("retry_after"))
    return PermanentError(kind, message, fatal=bool(said.get("fatal")))


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
            except ValueError as error:
                raise InputError(f"not JSON: {error}", source=str(path), line=number) from error


def _row_errors(row: Any) -> Iterator[str]:
    """Yield what is wrong with a row of a script."""
    if not isinstance(row, Mapping):
        yield "a row is an object"
        return
    if unknown := sorted(set(row) - _TYPES.keys()):
        yield f"unknown keys {unknown}; known are {sorted(_TYPES)}"
    says = [key for key in _SAYS if key in row]
    if len(says) != 1:
        yield f"a row has exactly one of {', '.join(_SAYS)}, not {says or 'none'}"
    for key, kind in _TYPES.items():
        if key in row and not isinstance(row[key], kind):
            yield f"{key} has the wrong type: {type(row[key]).__name__}"
        elif key in _INNER and set(row.get(key, ())) - (known := _INNER[key]):
            yield f"{key} is an object with the keys {', '.join(sorted(known))}"
    choices: list[tuple[str, Any, Any]] = [("finish_reason", row.get("finish_reason", "stop"), FinishReason)]
    choices += [("error.kind", row["error"].get("kind"), FailureKind)] if "error" in row else []
    for key, value, kinds in choices:
        if value not in get_args(kinds):
            yield f"{key} is one of {', '.join(get_args(kinds))}"
