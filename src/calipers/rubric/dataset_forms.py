"""Where rows of data sets have their prompt, and how their criteria's fields are named and misspelt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

ALIASES: Final[Mapping[str, str]] = {"criterion_text": "text"}
"""Other names of a criterion's fields: that of HealthBench Professional."""


def with_usual_fields(criterion: Any) -> Any:
    """Return a data set's criterion with the field names of a rubric file; an ``axis`` (ResearchRubrics) is a tag."""
    if not isinstance(criterion, Mapping):
        return criterion
    found = {ALIASES.get(str(key), key): item for key, item in criterion.items() if key != "axis"}
    if "axis" in criterion and "tags" not in criterion:
        found["tags"] = [f"axis:{criterion['axis']}"]
    return found


def nearest_field(key: str, known: Collection[str]) -> str | None:
    """Return the field of a criterion that an unknown ``key`` probably means; None if there is none."""
    folded = key.strip().casefold()
    if folded in known:
        return folded
    swapped = next((one for one in _neighbours_swapped(folded) if one in known), None)
    return swapped or next(iter(get_close_matches(folded, known, n=1, cutoff=0.8)), None)


def _neighbours_swapped(word: str) -> Iterator[str]:
    """Yield a word with two neighbouring letters swapped, at every position of a word of usual length."""
    for at in range(min(len(word), 40) - 1):
        yield f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"


def row_prompt(row: Mapping[str, Any]) -> Any:
    """Return a data set's prompt, as text or a list of messages, from whichever field holds it; None if none does.

    An ``input`` follows its ``instruction`` after an empty line.
    """
    conversation = row.get("conversation")
    if isinstance(conversation, Mapping) and conversation.get("messages"):
        return conversation["messages"]
    for key in ("query", "messages"):
        if row.get(key):
            return row[key]
    parts = [row.get(key) for key in ("instruction", "input")]
    texts = [part for part in parts if isinstance(part, str) and part.strip()]
    return "\n\n".join(texts) if isinstance(parts[0], str) and texts else None
