"""Finds the simple requests about form in a task ("in 3 sentences", "as JSON"), as checks of an answer.

It does not read messages. A task without such a request has no checks, which is neither good nor bad.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeAlias

from calipers.backends.embedded import text_counts

Check: TypeAlias = Callable[[str], bool]

_COUNTED = re.compile(
    r"\b(?:(at least|at most|no more than|less than|fewer than|under|within|exactly|in|up to|maximum of|max)\s+)?"
    r"(\d{1,4}|one|two|three|four|five|six|seven|eight|nine|ten)[ -](words?|sentences?)\b",
    re.IGNORECASE,
)
_SMALL = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}


def requested_format_checks(task: str) -> tuple[Check, ...]:
    """Return the embedded backend's checks of a candidate's answer for the requests about form ("in 3 sentences") in
    the task.
    """
    low = task.lower()
    found: list[Check] = []
    if re.search(r"\b(?:as|in|valid|return|output|a) json\b", low):
        found.append(_is_json)
    if "\\boxed" in low:
        found.append(lambda answer: "\\boxed" in answer)
    if re.search(r"\b(?:yes or no|yes/no)\b", low):
        found.append(lambda answer: bool(re.search(r"\b(?:yes|no)\b", answer[:200], re.IGNORECASE)))
    if re.search(r"\b(?:bullet|numbered list|bulleted)\b", low):
        found.append(lambda answer: bool(re.search(r"^\s*(?:[-*•]|\d{1,2}[.)])\s", answer, re.MULTILINE)))
    found.extend(_length_check(match) for match in list(_COUNTED.finditer(task))[-2:])
    return tuple(found)


def _length_check(match: re.Match[str]) -> Check:
    bound = (match[1] or "").lower()
    digits = match[2].lower()
    wanted = _SMALL[digits] if digits in _SMALL else int(digits)
    by_word = match[3].lower().startswith("word")

    def holds(answer: str) -> bool:
        count = len(text_counts.words(answer)) if by_word else text_counts.sentence_count(answer)
        slack = max(1, wanted // 10) if by_word and bound != "exactly" else 0
        if bound == "at least":
            return count >= wanted - slack
        return count <= wanted + slack and (bound not in ("exactly", "in", "") or count >= wanted - slack or by_word)

    return holds


def _is_json(answer: str) -> bool:
    body = re.sub(r"^```\w*\n|\n?```\s*$", "", answer.strip())
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
