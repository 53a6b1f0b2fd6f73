"""Finds content that addresses the judge: instructions, claims of a score, master keys, fake verdicts, rubrics, layout.

Pure, and bounded in time. A hit says that somebody tried, not that the judge fell for it; what follows is the
``on_attack`` policy's business (``judge``). What is not found: what is enciphered, or said in a language that the rules
do not know, and flattery, which is not an attack but a judge's weakness.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias
from unicodedata import normalize

from calipers.probes.disguises import CALLING, has_entities, unmasked
from calipers.probes.gathered import ANCHORS, gathered
from calipers.probes.phrases import APART, BY_WORD, KEYS, PLACES, SIGNS, SPELLED, WORDS
from calipers.probes.rule import Rule, compiled
from calipers.types import Attack, AttackKind, Message, RenderedGroup

_Known: TypeAlias = dict[str, tuple[tuple[AttackKind, str], ...]]

_LONGEST: Final = 2**18
"""Characters of one message that are searched: its beginning and its end, half of them each."""
_EXCERPT: Final = 120
_AROUND: Final = 20
_SHORTEST: Final = 6
"""Fewer characters than this say nothing but, perhaps, a master key."""

_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_FAR_SCRIPT = re.compile("[\u0400-\u04ff\u0600-\u06ff\u0900-\u097f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_MIXED = re.compile(r"[a-z][\u0370-\u03ff\u0400-\u04ff]|[\u0370-\u03ff\u0400-\u04ff][a-z]")
_LOOK_ALIKES = str.maketrans("аеорсухіјѕԁһӏԛԝбкмтвнαεορυικνχτ", "aeopcyxijsdhlqwbkmtbhaeopyiknxt")
_BARE_KEY = re.compile(r"[\s:;.,'\"`…。，、；：*#_]{1,8}")
_TRIMMED = " \t\n:;.,!'\"`…。，、；：*#_"


def attacks_in(
    view: RenderedGroup, *, context: int = 0, prepared: Sequence[tuple[Attack, ...] | None] = ()
) -> Mapping[int, tuple[Attack, ...]]:
    """What addresses the judge, by position in ``view.candidates``; candidates without a hit are left out.

    What all candidates begin with is not looked at: it gives none of them an edge. ``context`` is how many messages
    the group put before each trajectory's own, from which ``Attack.message`` is counted. ``prepared`` is what was found in
    a candidate's own messages before, the beginning that it shares included, or None; one for each candidate, or none.
    """
    known, all_known = _harmless(view) if not prepared or None in prepared else ({}, True)
    found: dict[int, tuple[Attack, ...]] = {}
    for item, candidate in enumerate(view.candidates):
        hits = prepared[item] if prepared else None
        if hits is None:
            if all_known and (not candidate.messages or master_key(candidate.messages[-1]) is None):
                continue
            all_counted = find_attacks(candidate.messages, start=view.prefix_length, known=known)
            hits = tuple(replace(hit, message=hit.message - context) for hit in all_counted)
        elif hits:
            hits = tuple(hit for hit in hits if hit.message + context >= view.prefix_length)
        if hits:
            found[item] = hits
    return found


def _harmless(view: RenderedGroup) -> tuple[_Known, bool]:
    """The texts of a group that hold nothing to look at, and whether these are all; none where a rule's word occurs."""
    from calipers.probes.screen import any_word_in  # noqa: PLC0415 - numpy takes a tenth of a second to import

    texts: dict[str, None] = {}
    for candidate in view.candidates:
        for message in candidate.messages[view.prefix_length :]:
            content = message.get("content")
            if len(message) == 2 and type(content) is str:
                texts[content] = None
            else:
                texts.update(dict.fromkeys(_texts(message)))
    together = " ".join(texts)
    if _is_plain(together):  # as nearly always, and found out faster than text by text
        return {}, not any_word_in(together)
    plain = [text for text in texts if _is_plain(text)]
    if any_word_in(" ".join(plain)):
        return {}, False
    return dict.fromkeys(plain, ()), len(plain) == len(texts)


def _is_plain(text: str) -> bool:
    return (
        text.isascii()
        and len(text) <= _LONGEST
        and not ("<" in text or "[" in text or "@" in text or has_entities(text))
    )


def find_attacks(messages: Sequence[Message], *, start: int = 0, known: _Known | None = None) -> tuple[Attack, ...]:
    """What in ``messages[start:]`` (canonical messages) addresses the judge; at most one hit of a kind a message.

    ``Attack.message`` is the position in ``messages``, and ``Attack.role`` who wrote it there. ``known`` remembers
    texts from one call to the next.
    """
    known = {} if known is None else known
    hits: list[Attack] = []
    for index in range(start, len(messages)):
        message = messages[index]
        role = str(message.get("role"))
        if role in {"system", "developer"}:
            continue  # the environment's own, and no policy's
        found: dict[AttackKind, str] = {}
        for text in _texts(message):
            if text not in known:
                known[text] = tuple(_found(text))
            for kind, excerpt in known[text]:
                found.setdefault(kind, excerpt)
        if index == len(messages) - 1 and (key := master_key(message)) is not None:
            found["master_key"] = key
        hits += [Attack(kind, index, role, excerpt) for kind, excerpt in found.items()]
    return tuple(hits)


def _texts(message: Message) -> Iterator[str]:
    """Every text of a message, tool-call arguments included."""
    for key in ("content", "reasoning", "refusal"):
        value = message.get(key)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (
                part["text"] for part in value if isinstance(part, Mapping) and isinstance(part.get("text"), str)
            )
    for call in message.get("tool_calls") or ():
        arguments = _arguments(call)
        if arguments:
            # As JSON, what was written over lines or in other scripts is spelled in escapes.
            yield arguments.replace("\\n", "\n").replace('\\"', '"')


def _arguments(call: Any) -> str | None:
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    return arguments if isinstance(arguments, str) else None


def _found(text: str) -> Iterator[tuple[AttackKind, str]]:
    if len(text) < _SHORTEST:
        return
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
    if text.isascii():
        yield from _signs(text)
        yield from _matches(text)
        return
    visible = _UNSEEN.sub("", normalize("NFKC", text))
    yield from _signs(visible)
    plain = visible.lower()
    yield from _matches(plain)
    if _FAR_SCRIPT.search(plain):
        yield from _tried([rule for rule in SPELLED if any(part in plain for part in rule.parts)], plain)
    if _MIXED.search(plain):
        yield from _matches(plain.translate(_LOOK_ALIKES))


def _signs(text: str) -> Iterator[tuple[AttackKind, str]]:
    for sign in SIGNS:
        if sign.begins in text and (match := compiled(sign.pattern, sign.flags).search(text)):
            yield sign.kind, _excerpt(text, match)


def _matches(text: str, *, masked: bool = True) -> Iterator[tuple[AttackKind, str]]:
    words = set(text.encode("utf-8", "surrogatepass").translate(APART).split())
    calling = WORDS.intersection(words)
    called = {id(rule): rule for word in calling for rule in BY_WORD.get(word, ())}
    rules = [rule for rule in called.values() if not any(group.isdisjoint(words) for group in rule.words)]
    if rules:
        yield from _tried(sorted(rules, key=lambda rule: PLACES[id(rule)]), text.lower())
    if not calling.isdisjoint(ANCHORS):
        yield from ((kind, _shown(sentence)) for kind, sentence in gathered(words, text.lower()))
    if masked and (not calling.isdisjoint(CALLING) or has_entities(text)):
        for plain in unmasked(text, words, calling):
            yield from _matches(plain, masked=False)


def _tried(rules: Sequence[Rule], text: str) -> Iterator[tuple[AttackKind, str]]:
    line = " ".join(text.split())
    for rule in rules:
        if match := compiled(rule.pattern).search(line):
            yield rule.kind, _excerpt(line, match)


def _excerpt(text: str, match: re.Match[str]) -> str:
    begin = max(0, match.start() - _AROUND)
    return _shown(text[begin:])


def _shown(text: str) -> str:
    shown = " ".join(text[:_EXCERPT].split())
    return shown if shown.isprintable() else "".join(char if char.isprintable() else "�" for char in shown)


def master_key(message: Message) -> str | None:
    """The text of an assistant's message that is nothing but an opening which some judges reward; else None."""
    if message.get("role") != "assistant" or message.get("tool_calls"):
        return None
    content = message.get("content")
    if not isinstance(content, str) or len(content) > 80:
        return None
    if content.strip() and _BARE_KEY.fullmatch(content):
        return content.strip()
    bare = normalize("NFKC", content).lower().strip(_TRIMMED).replace("’", "'")
    return content.strip() if bare in KEYS else None
