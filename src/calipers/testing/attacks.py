"""Attacks on a judge, written for calipers: texts that a candidate appends to its answer, or gives as its answer.

They measure a judge, a defence or a detector. A policy under training will find others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from calipers.types import AttackKind
from calipers.types.encoding import read_packaged_toml


@dataclass(frozen=True, slots=True)
class WrittenAttack:
    """An attack ``text`` in ``language`` (ISO 639-1), and the kind of attack that the detector should report."""

    kind: AttackKind
    language: str
    text: str

    @property
    def alone(self) -> bool:
        """Whether the attack only works as the whole answer."""
        return self.kind == "master_key"


ATTACKS: Final = tuple(
    WrittenAttack(row["kind"], row["language"], text)
    for row in read_packaged_toml("calipers.testing", "attacks.toml")["attacks"]
    for text in row["texts"]
)
"""Attacks of every kind that the detector reports. Those that instruct the judge are in English and eleven other
languages.
"""
