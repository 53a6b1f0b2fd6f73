"""Keys of groups whose engines give them no id, and the names under which logs and errors show them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_HEAD: Final = 24
_TAIL: Final = 45
"""Characters of a prompt that a name holds: prompts of one run may begin alike, and end with what was asked."""


@dataclass(frozen=True, slots=True, repr=False)
class NamedKey:
    """The key of a trainer's group. Keys with the same ``parts`` are equal; ``name`` is for people."""

    parts: tuple[Hashable, ...]
    name: str = field(compare=False)

    def __repr__(self) -> str:
        return repr(self.name)

    def __str__(self) -> str:
        return self.name

    def within(self, run: str, size: int) -> NamedKey:
        """Return the key of the group among the trainers' runs of a server, in groups of ``size``."""
        return NamedKey((run, size, *self.parts), f"{run}: {self.name}" if run else self.name)


def key_of_prompt(prompt: str | Sequence[Mapping[str, Any]], *parts: Hashable) -> NamedKey:
    """Return a key with ``parts`` for a trainer's group that shares ``prompt``, a text or messages, as its name."""
    content = prompt if isinstance(prompt, str) else prompt[-1].get("content") if prompt else None
    found = (part.get("text") for part in content if isinstance(part, Mapping)) if isinstance(content, list) else ()
    texts = [content] if isinstance(content, str) else [text for text in found if isinstance(text, str)]
    text = " ".join(" ".join(texts).split()) or "(no text)"
    return NamedKey(parts, text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}…{text[-_TAIL:]}")


def name_of_key(key: Hashable) -> str:
    """Return how logs and errors show the key of a trainer's group: a tuple by its parts that are not empty."""
    return ":".join(str(part) for part in key if part) if isinstance(key, tuple) else str(key)
