"""Find all attacks in a text that the filter (``prefilter``) selected, as it is and with its hidden parts decoded.

Importing this module compiles the patterns of all kinds of attacks, so ``injection`` imports it for the first such
text. Not responsible for which texts are searched.
"""

from __future__ import annotations

from typing import Final

from calipers.guard.attack_rules import Hit
from calipers.guard.forged_layout import forged_parts
from calipers.guard.normalised import NormalisedText, normalise
from calipers.guard.obfuscation import deobfuscated
from calipers.guard.prefilter import Hints, hints_in
from calipers.guard.sentence_attacks import sentence_attacks
from calipers.types import Attack
from calipers.types.steps import Steps

_EXCERPT: Final = 120
_AROUND: Final = 20


def attacks_in_text(raw: str, text: NormalisedText, hints: Hints) -> Steps[list[Attack]]:
    """Return the attacks in a text that was selected, as it is and with its hidden parts decoded, in steps."""
    found = yield from _in_plain_text(text, hints)
    for hidden in deobfuscated(raw, text, hints):
        yield
        plain = normalise(hidden)
        yield
        found += yield from _in_plain_text(plain, hints_in(plain))
    return found


def _in_plain_text(text: NormalisedText, hints: Hints) -> Steps[list[Attack]]:
    found = yield from sentence_attacks(text, hints.spans)
    found += yield from forged_parts(text, hints.verdicts)
    return [_attack(text, hit) for hit in found]


def _attack(text: NormalisedText, hit: Hit) -> Attack:
    begin = hit.begin if hit.end - hit.begin > _AROUND else max(0, hit.begin - _AROUND)
    line = " ".join(text.shown[begin : begin + 2 * _EXCERPT].split())[:_EXCERPT]
    excerpt = "".join(char if char.isprintable() else "�" for char in line)
    return Attack(hit.kind, -1, "", excerpt, hit.certainty)
