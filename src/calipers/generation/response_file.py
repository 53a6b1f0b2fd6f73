"""Stores generated responses as they arrive, a line each, so that an interrupted run continues where it stopped.

A line is written and flushed before its response is used, so ``kill -9`` loses only the calls in flight. The file holds
no API key and no header. It is not a ledger: responses are neither read again by a better parser nor replayed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.ledger import ledger_key
from calipers.types import Completion, JudgeRequest, Usage


class ResponseFile:
    """The generated responses in the file ``path``, by request and model.

    If the model or a setting differs, a response is generated again. A line that cannot be read is skipped; it may be
    the last line of a killed run. Raises ConfigError if the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._known: dict[str, Completion] = {}
        self.reused = 0
        """How many responses were read from the file."""
        try:
            if Path(path).is_file():
                self._read(Path(path))
            self._file = Path(path).open("a", encoding="utf-8", newline="\n")  # noqa: SIM115 - __exit__ closes it
        except OSError as error:
            raise ConfigError(f"{path}: responses cannot be stored there: {error.strerror or error}") from error

    async def answer(self, request: JudgeRequest, backend: Backend) -> Completion:
        """Return the generated response stored for ``request``, or generate one. Raises what the backend raises."""
        key = f"{request.view.group_id}:{ledger_key(request, backend)}"
        if (known := self._known.get(key)) is not None:
            self.reused += 1
            return known
        completion = await backend.complete(request)
        self._file.write(json.dumps({"key": key, **_row(completion)}) + "\n")
        self._file.flush()
        return completion

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _read(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        for line in text.split("\n"):
            try:
                row = json.loads(line)
                self._known[row["key"]] = _completion(row)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                continue
        if text and not text.endswith("\n"):
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.write("\n")  # the next response must start a new line


def _row(done: Completion) -> dict[str, Any]:
    usage = done.usage
    return {
        "text": done.text,
        "finish_reason": done.finish_reason,
        "reasoning": done.reasoning,
        "model": done.model,
        "told_in": done.text_source,
        "tokens": [usage.input_tokens, usage.output_tokens, usage.cached_tokens],
        **({} if usage.cost_usd is None else {"cost_usd": usage.cost_usd}),
    }


def _completion(row: dict[str, Any]) -> Completion:
    return Completion(
        row["text"],
        row["finish_reason"],
        row["reasoning"],
        model=row["model"],
        usage=replace(Usage(*row["tokens"]), cost_usd=row.get("cost_usd")),
        text_source=row.get("told_in", "content"),
    )
