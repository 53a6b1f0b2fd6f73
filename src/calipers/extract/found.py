"""What one piece of a reply was found to state, before it is known whether that piece counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from calipers.extract.values import Unread, Value


@dataclass(slots=True)
class Found:
    """What one document states. ``values`` by id; ``doubts`` is non-empty when it cannot be trusted as a whole.

    ``tail`` is the text after the last line that stated a score, where the verdict was prose.
    ``scoreless`` are ids that some row named without giving a score.
    ``positional`` holds scores that name nobody, in order; ``weak`` when ids were mere indices.
    """

    values: dict[str, Value | Unread] = field(default_factory=dict)
    explanations: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    positional: list[Value | Unread] = field(default_factory=list)
    scoreless: set[str] = field(default_factory=set)
    weak: bool = False
    placeholders: int = 0
    tail: str = ""

    @property
    def readable(self) -> bool:
        """Whether any number was read: a block without one is a template, not a verdict."""
        return any(type(value) is Value for value in (*self.values.values(), *self.positional))

    def add(self, id_: str, value: Value | Unread) -> None:
        """Record ``value``; a second, different one is doubt."""
        known = self.values.get(id_)
        if known is None or (type(known) is Unread and known.empty):
            self.values[id_] = value
        elif known != value and not (type(value) is Unread and value.empty):
            same = type(known) is Value and type(value) is Value and known.number == value.number
            if not same:
                self.doubts.append(f"two different scores for {id_!r}")

    def merge(self, other: Found) -> None:
        """Take over what another part of the same verdict states."""
        for id_, value in other.values.items():
            self.add(id_, value)
        self.explanations.update(other.explanations)
        self.doubts.extend(other.doubts)
        self.scoreless |= other.scoreless
        self.weak |= other.weak
        self.placeholders += other.placeholders
