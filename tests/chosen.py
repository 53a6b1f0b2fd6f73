"""Inputs chosen because each of them alone shows some small change of the code, and what comes of them, on file.

``GOLDEN=write python -m pytest FILE`` writes the
outcomes anew where a change is meant; its diff says what changed. Outcomes hold no wording.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from golden import shortened

FOLDER = Path(__file__).parent / "fixtures" / "chosen"
SIZE = 50
"""Inputs in a test."""


def parts(name: str) -> range:
    """What to parametrize a test with: the first place of each part of the file."""
    return range(0, len(_lines(name)), SIZE)


def check(name: str, start: int, outcome: Callable[[Any], Any]) -> None:
    """Compare the outcomes of a part of the inputs on file with those on file."""
    lines = _lines(name)
    now = [[given, _written(outcome, given)] for given, _ in lines[start : start + SIZE]]
    if os.environ.get("GOLDEN") == "write":
        lines[start : start + SIZE] = now
        write(name, lines)
        return
    pairs = zip(lines[start : start + SIZE], now, strict=True)
    differ = [f"{given!r}\n  was {was}\n  is  {found}" for (given, was), (_, found) in pairs if was != found]
    assert not differ, f"{len(differ)} of {len(now)} differ:\n" + "\n".join(differ[:5])


def write(name: str, lines: Sequence[Sequence[Any]]) -> None:
    """Put inputs with their outcomes on file."""
    FOLDER.mkdir(exist_ok=True)
    text = "".join(json.dumps([given, found]) + "\n" for given, found in lines)
    (FOLDER / f"{name}.jsonl").write_text(text, encoding="utf-8")


def _lines(name: str) -> list[list[Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def _written(outcome: Callable[[Any], Any], given: Any) -> str:
    """The outcome as JSON, long ones by their beginning and a hash; an error by its name."""
    try:
        found = outcome(json.loads(json.dumps(given)))
    except Exception as error:  # noqa: BLE001 - which error is part of what is on file
        return type(error).__name__
    return shortened(json.dumps(found))
