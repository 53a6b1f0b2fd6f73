"""Finds prompt injection: candidates that address the judge, claim a score, or forge a verdict, a rubric or the layout.

Pure, and bounded in time. A hit says that somebody tried and how certain that is, not that the judge fell for it; what
follows is the business of ``on_attack`` (``judging.attacks``). Not found: what is enciphered, or written in a language
that the lexicon lacks; what is quoted and called an attack; and flattery, which is not an attack but a judge's
weakness.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from unicodedata import normalize

from calipers.guard.forged_layout import forged_parts
from calipers.guard.normalised import NormalisedText, normalised
from calipers.guard.obfuscation import deobfuscated, in_words
from calipers.guard.rules import is_better
from calipers.guard.sentence_attacks import sentence_attacks
from calipers.guard.vocabulary import phrases
from calipers.types import Attack, AttackKind, Certainty, Message, RenderedGroup

if TYPE_CHECKING:  # it imports numpy, which takes a tenth of a second
    from calipers.guard.prefilter import Hints


_Known: TypeAlias = dict[str, tuple[Attack, ...]]
"""The attacks in texts, in which message and by whom still unsaid."""

_PIECE: Final = 2**18
_OVERLAP: Final = 2**9
"""Characters searched at a time, however long the text is, and how many more, so that pieces overlap."""
_EXCERPT: Final = 120
_AROUND: Final = 20
_SHORTEST: Final = 6
"""A shorter text can at most be a master key."""
_EDGE: Final = 200
"""Characters on both sides of a break between messages that are read as one text."""
_SENTENCE_ENDS: Final = frozenset(".!?…\"')]}`>。！？।؟")
_DEEPEST: Final = 12
_IDS: Final = frozenset({"role", "id", "type", "tool_call_id", "detail", "is_error", "index"})
_USUAL_KEYS: Final = frozenset(
    {"content", "reasoning", "refusal", "name", "tool_calls", "function", "arguments", "text", "image_url", "url"}
    | {"value"}
)  # fmt: skip
_BARE_KEY = re.compile(r"[\s:;.,'\"`…。，、；：*#_]{1,8}")
_KEY_EDGES = " \t\n:;.,!'\"`…。，、；：*#_"


def attacks_in(
    view: RenderedGroup, *, context: int = 0, prepared: Sequence[tuple[Attack, ...] | None] = ()
) -> Mapping[int, tuple[Attack, ...]]:
    """The attacks of each candidate, by position in ``view.candidates``; candidates without any are omitted.

    ``context`` is how many messages the group put before each trajectory's own: the task, which is not searched, and
    from whose end ``Attack.message`` is counted. What all trajectories begin with is searched, but what a user says
    there is the task again, and only reported where it is certain. ``prepared`` is what was found in a candidate's own
    messages before, or None; one for each candidate, or none at all.
    """
    texts = {
        item: _texts_of(candidate.messages, context)
        for item, candidate in enumerate(view.candidates)
        if not prepared or prepared[item] is None
    }
    known = _search(dict.fromkeys(text for own in texts.values() for _, text in own))
    harmless = not any(known.values())
    found: dict[int, tuple[Attack, ...]] = {}
    for item, candidate in enumerate(view.candidates):
        hits = prepared[item] if item not in texts else None
        if hits is None:
            if harmless and (len(candidate.messages) <= context or _master_key(candidate.messages[-1]) is None):
                continue
            all_counted = _attacks(candidate.messages, texts[item], known, start=context)
            hits = tuple(replace(hit, message=hit.message - context) for hit in all_counted)
        shared = view.prefix_length - context
        hits = tuple(hit for hit in hits if hit.message >= shared or hit.role != "user" or hit.certainty == "certain")
        if hits:
            found[item] = hits
    return found


def find_attacks(messages: Sequence[Message], *, start: int = 0, known: _Known | None = None) -> tuple[Attack, ...]:
    """The attacks in ``messages[start:]`` (canonical messages); at most one of each kind in a message.

    ``Attack.message`` is the position in ``messages``, and ``Attack.role`` who wrote it there. ``known`` is a cache of
    searched texts that several calls may share.
    """
    known = {} if known is None else known
    texts = _texts_of(messages, start)
    known.update(_search(dict.fromkeys(text for _, text in texts if text not in known)))
    return _attacks(messages, texts, known, start=start)


def _attacks(
    messages: Sequence[Message], texts: Iterable[tuple[int, str]], known: _Known, *, start: int
) -> tuple[Attack, ...]:
    found: dict[int, list[Attack]] = {}
    for index, text in texts:
        if known[text]:
            found.setdefault(index, []).extend(known[text])
    if len(messages) > start and (key := _master_key(messages[-1])) is not None:
        found.setdefault(len(messages) - 1, []).append(key)
    return tuple(
        replace(hit, message=index, role=str(messages[index].get("role")))
        for index, hits in sorted(found.items())
        for hit in _most_certain(hits)
    )


def _most_certain(hits: Iterable[Attack]) -> tuple[Attack, ...]:
    """Of each kind the most certain."""
    best: dict[AttackKind, Attack] = {}
    for hit in hits:
        if is_better(hit, best):
            best[hit.kind] = hit
    return tuple(best.values())


def _search(texts: Collection[str]) -> _Known:
    """The attacks in each text: mostly none, which is found out for all texts at once."""
    from calipers.guard.prefilter import worth_searching  # noqa: PLC0415 - numpy takes a tenth of a second to import

    known: _Known = dict.fromkeys(texts, ())
    for text in texts:
        if len(text) > _PIECE + _OVERLAP:
            pieces = (text[begin : begin + _PIECE + _OVERLAP] for begin in range(0, len(text) - _OVERLAP, _PIECE))
            known[text] = _most_certain(hit for piece in pieces for hit in _search([piece])[piece])
    shorter = {text: normalised(text) for text in texts if _SHORTEST <= len(text) <= _PIECE + _OVERLAP}
    for raw, plain, hints in worth_searching(shorter):
        known[raw] = _most_certain(_in_text(raw, plain, hints))
    return known


def _in_text(raw: str, text: NormalisedText, hints: Hints) -> Iterator[Attack]:
    from calipers.guard.prefilter import hints_in  # noqa: PLC0415 - as above

    yield from _in_plain_text(text, hints)
    for plain in map(normalised, deobfuscated(raw, text, hints)):
        yield from _in_plain_text(plain, hints_in(plain))


def _in_plain_text(text: NormalisedText, hints: Hints) -> Iterator[Attack]:
    for hit in (*sentence_attacks(text, hints.spans), *forged_parts(text, hints.verdicts)):
        begin = hit.begin if hit.end - hit.begin > _AROUND else max(0, hit.begin - _AROUND)
        line = " ".join(text.shown[begin : begin + 2 * _EXCERPT].split())[:_EXCERPT]
        excerpt = "".join(char if char.isprintable() else "�" for char in line)
        yield Attack(hit.kind, -1, "", excerpt, hit.certainty)


def _texts_of(messages: Sequence[Message], start: int) -> list[tuple[int, str]]:
    """Every text of ``messages[start:]`` that a judge is shown, except the environment's own, with its position.

    Where a text of the policy goes on in its next message, both edges are one more text, of the later message.
    """
    found: list[tuple[int, str]] = []
    end = ""
    for index in range(start, len(messages)):
        message = messages[index]
        role = message.get("role")
        if role in {"system", "developer"}:
            continue
        content = message.get("content")
        if isinstance(content, str):
            if role == "assistant" and content:
                if end:
                    found.append((index, f"{end} {content[:_EDGE].lstrip()}"))
                end = content[-_EDGE:].rstrip()
                end = "" if end[-1:] in _SENTENCE_ENDS else end
            found.append((index, content))
            if len(message) == 2:
                continue
            message = {key: value for key, value in message.items() if key != "content"}
        others: list[str] = []
        _collect(message, others)
        found += [(index, text) for text in others]
    return found


def _collect(value: Any, found: list[str], depth: int = _DEEPEST) -> None:
    """Add the texts of a message, of its parts and of what these hold: names and arguments of calls, unusual keys."""
    match value:
        case str():
            found.append(value)
        case {"function": {"name": str(name), "arguments": str(arguments)}}:
            found.append(in_words(name))
            # As JSON, a line break is spelled in an escape.
            escaped = "\\" in arguments
            found.append(arguments.replace("\\n", "\n").replace('\\"', '"') if escaped else arguments)
        case {} if depth:  # any mapping
            for key, inner in value.items():
                if key in _IDS and isinstance(inner, str):
                    continue
                if key not in _USUAL_KEYS and isinstance(key, str):
                    found.append(in_words(key))
                _collect(inner, found, depth - 1)
        case list() | tuple() if depth:
            for inner in value:
                _collect(inner, found, depth - 1)


def master_key(message: Message) -> str | None:
    """The text of an assistant's message that is nothing but an opening which some judges reward; else None."""
    key = _master_key(message)
    return None if key is None else key.excerpt


@cache
def _openings() -> frozenset[str]:
    return frozenset(normalize("NFKC", opening) for opening in phrases("master_keys"))


def _master_key(message: Message) -> Attack | None:
    """A master key: certain if it announces what does not follow, less so if it may be an answer of one word."""
    content = message.get("content")
    if message.get("role") != "assistant" or message.get("tool_calls"):
        return None
    if not isinstance(content, str) or len(content) > 80:
        return None
    shown = content.strip()
    plain = normalize("NFKC", shown)
    certainty: Certainty | None = None
    if shown and _BARE_KEY.fullmatch(content):
        certainty = "certain" if ":" in plain else "likely"
    elif (bare := normalize("NFKC", content).lower().strip(_KEY_EDGES).replace("’", "'")) in _openings():
        announces = plain.rstrip("*_# ").endswith(":") or "'" in bare or bare.count(" ") > 2
        certainty = "certain" if announces else "suspicious"
    return None if certainty is None else Attack("master_key", -1, "", shown, certainty)
