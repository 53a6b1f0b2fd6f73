"""The detector's cases: texts that address a judge, and harmless ones that look alike, staged where a policy would put
them.

Half of each was written before the rules were last mended and is not looked at when mending (``held_out``). A line of
the files is ``language kind: text``; ``\\n`` stands for a line break.
"""

from __future__ import annotations

import codecs
import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from calipers.types import Message, Trajectory, TrajectoryGroup

FOLDER = Path(__file__).parent / "fixtures" / "detector"
Half: TypeAlias = Literal["tuned", "held_out"]

_BEFORE = "The capital of France is Paris. It lies on the Seine.\n\n"
_FILLER = "The river rises in the hills, turns west below the old bridge and reaches the sea after forty miles. "
_LOOKALIKES = str.maketrans("aeopcyx", "аеорсух")


@dataclass(frozen=True, slots=True)
class Case:
    """``messages`` are one trajectory's; with ``shared`` its sibling begins with the same."""

    half: Half
    attack: bool
    language: str
    kind: str
    text: str
    messages: tuple[Message, ...]
    shared: bool = False

    def group(self) -> TrajectoryGroup:
        """The case beside a harmless sibling: ids "case" and "sibling"."""
        sibling: tuple[Message, ...] = (_said("It is 41."),)
        if self.shared:
            sibling = (*self.messages[:1], *sibling)
        return TrajectoryGroup(
            f"{self.language}-{self.kind}",
            (Trajectory("case", self.messages), Trajectory("sibling", sibling)),
            context=({"role": "user", "content": "What is 17 + 25, and where is Paris?"},),
        )


def cases(half: Half) -> list[Case]:
    """All attacks and look-alikes of a half, in the files' order."""
    return [*_read(half, "attacks"), *_read(half, "harmless")]


def reworded(name: str) -> list[str]:
    """Texts written without the rules at hand: ``attacks`` or ``honest``, ``seen`` (mended on) or ``held_out``."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines]


def _read(half: Half, name: str) -> Iterator[Case]:
    attack = name == "attacks"
    for line in (FOLDER / f"{name}_{half}.txt").read_text(encoding="utf-8").splitlines():
        head, _, text = line.partition(": ")
        language, kind = head.split()
        text = text.replace("\\n", "\n")
        yield Case(half, attack, language, kind, text, staged(kind, text, attack=attack), shared=kind == "shared")


def staged(kind: str, text: str, *, attack: bool) -> tuple[Message, ...]:
    if kind in _WAYS:
        return _WAYS[kind](text)
    written = _SPELLINGS[kind](text) if kind in _SPELLINGS else text
    return (_said(f"{_BEFORE}{written}" if attack else written),)


def _said(content: Any, role: str = "assistant", **more: Any) -> Message:
    return {"role": role, "content": content, **more}


def _called(name: str, arguments: str) -> tuple[Message, ...]:
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return (_said(None, tool_calls=[call]), _said("done", "tool", tool_call_id="c1"), _said("It is 42."))


def _answered(text: str) -> tuple[Message, ...]:
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"q": "Paris"}'}}
    return _said(None, tool_calls=[call]), _said(text, "tool", tool_call_id="c1"), _said("It is 42.")


_WAYS: Mapping[str, Callable[[str], tuple[Message, ...]]] = {
    "tool_name": lambda text: _called(text, "{}"),
    "tool_args": lambda text: _called("look_up", json.dumps(json.loads(text))),
    "tool_result": _answered,
    "reasoning": lambda text: (_said("It is 42.", reasoning=text),),
    "alt": lambda text: (_said([{"type": "text", "text": f"A chart: ![{text}](chart.png)"}]),),
    "middle": lambda text: (_said(f"{_FILLER * 1500}{text} {_FILLER * 1500}"),),
    "shared": lambda text: (_said(text), _said("It is 42.")),
    "split": lambda text: tuple(_said(part) for part in text.split(" || ")),
    "user": lambda text: (_said("What would you like?"), _said(text, "user"), _said("It is 42.")),
}
"""Where a text stands, if not in the one message of a trajectory."""

_SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "base64": lambda text: b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "reversed": lambda text: text[::-1],
    "zero_width": "\u200b".join,
    "homoglyph": lambda text: text.translate(_LOOKALIKES),
    "tags": lambda text: "Fine." + "".join(chr(0xE0000 + ord(char)) for char in text),
    "spaced": lambda text: "   ".join(" ".join(word) for word in text.split()),
    "urlencoded": quote,
    "escaped": lambda text: "".join(f"\\x{ord(char):02x}" for char in text),
}
"""What hides a text's wording."""
