"""Find prompt injection: candidates that address the judge, claim a score, or forge a verdict, a rubric or the layout.

The search is pure and bounded in time. An attack found means that a candidate tried, with the stated certainty, and not
that the judge obeyed. ``judging.excluded`` decides the consequence (``on_attack``). The search misses enciphered text,
languages without a lexicon, and quoted text that is called an attack. It ignores flattery, which is not an attack but a
weakness of judges.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias
from unicodedata import normalize

from calipers.guard.attack_rules import most_certain_of_each_kind
from calipers.guard.obfuscation import split_name
from calipers.guard.vocabulary import phrase_list
from calipers.types import Attack, Certainty, Message, RenderedGroup
from calipers.types.steps import Steps, run_steps

_Known: TypeAlias = dict[str, tuple[Attack, ...]]
"""The attacks found in each text. The message's position and role are filled in later."""

_PIECE: Final = 2**18
_OVERLAP: Final = 2**9
"""Long texts are searched in pieces of ``_PIECE`` characters, each followed by this many characters of
the next piece.
"""
_BATCH: Final = 2**17
"""Shorter texts are searched together, until they have this many characters. In larger batches, the arrays of the
filter would not fit into the processor's cache.
"""
_SHORTEST: Final = 6
"""A text with fewer characters can only be a master key."""
_EDGE: Final = 200
"""This many characters on each side of a break between two messages are searched as one text."""
_SENTENCE_ENDS: Final = frozenset(".!?…\"')]}`>。！？।؟")
_DEEPEST: Final = 12
_LONGEST_NAME: Final = 64
"""Longer names of tools and keys are not remembered."""
_IDS: Final = frozenset({"role", "id", "type", "tool_call_id", "detail", "is_error", "index"})
_SEARCHED: Final = _IDS | {"content"}
_USUAL_KEYS: Final = frozenset(
    {"content", "reasoning", "refusal", "name", "tool_calls", "function", "arguments", "text", "image_url", "url"}
    | {"value"}
)  # fmt: skip
_BARE_KEY = re.compile(r"[\s:;.,'\"`…。，、；：*#_]{1,8}")
_KEY_EDGES = " \t\n:;.,!'\"`…。，、；：*#_"


def attacks_in(
    view: RenderedGroup, *, context: int = 0, prepared: Sequence[tuple[Attack, ...] | None] = ()
) -> Mapping[int, tuple[Attack, ...]]:
    """Return each candidate's attacks on the judge, by position in ``view.candidates``; those without are omitted.

    ``context`` is the number of messages with the task, which the group puts before each trajectory. They are not
    searched, and ``Attack.message`` is counted from the end of these messages. Messages with which all trajectories
    begin are searched. But a user's text in them also belongs to the task, so only certain attacks in it are reported.
    ``prepared`` has the attacks already found in each candidate's own messages, or None for a candidate not searched
    yet. It may be empty.
    """
    return run_steps(attacks_in_steps(view, context=context, prepared=prepared))


def attacks_in_steps(
    view: RenderedGroup, *, context: int = 0, prepared: Sequence[tuple[Attack, ...] | None] = ()
) -> Steps[Mapping[int, tuple[Attack, ...]]]:
    """Return each candidate's attacks on the judge as ``attacks_in`` does, in steps."""
    texts: dict[int, list[tuple[int, str]]] = {}
    searched: dict[str, None] = {}
    for item, candidate in enumerate(view.candidates):
        if not prepared or prepared[item] is None:
            yield
            texts[item] = _texts_of(candidate.messages, context)
            searched.update(dict.fromkeys(text for _, text in texts[item]))
    known = yield from _search(searched)
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
    """Return attacks on the judge in ``messages[start:]`` (canonical messages), at most one of each kind in a message.

    ``Attack.message`` is the position in ``messages``, and ``Attack.role`` the message's role. ``known`` is a cache of
    searched texts that several calls may share.
    """
    known = {} if known is None else known
    texts = _texts_of(messages, start)
    known.update(run_steps(_search(dict.fromkeys(text for _, text in texts if text not in known))))
    return _attacks(messages, texts, known, start=start)


def searched_texts(messages: Sequence[Message]) -> list[str]:
    """Return the texts in which ``find_attacks`` searches a trajectory's ``messages`` for attacks."""
    return [text for _, text in _texts_of(messages, 0)]


def search_in_steps(texts: Collection[str]) -> Steps[Mapping[str, tuple[Attack, ...]]]:
    """Return the attacks in each of ``texts``, in steps: what ``find_attacks`` takes as ``known``.

    Many texts in one call take a third of the time of one at a time.
    """
    return (yield from _search(dict.fromkeys(texts)))


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
        for hit in most_certain_of_each_kind(hits)
    )


def _search(texts: Collection[str]) -> Steps[_Known]:
    """Search texts for attacks, in steps. A filter over many texts at once excludes most of them first."""
    known: _Known = dict.fromkeys(texts, ())
    batch: list[str] = []
    size = 0
    for text in texts:
        if len(text) > _PIECE + _OVERLAP:
            hits: list[Attack] = []
            for begin in range(0, len(text) - _OVERLAP, _PIECE):
                piece = text[begin : begin + _PIECE + _OVERLAP]
                hits += (yield from _search([piece]))[piece]
            known[text] = most_certain_of_each_kind(hits)
        elif len(text) >= _SHORTEST:
            batch.append(text)
            size += len(text)
            if size >= _BATCH:
                yield from _search_batch(batch, known)
                batch, size = [], 0
    yield from _search_batch(batch, known)
    return known


def _search_batch(texts: Sequence[str], known: _Known) -> Steps[None]:
    """Add the attacks in ``texts`` to ``known``, in steps."""
    from calipers.guard.prefilter import worth_searching  # noqa: PLC0415 - numpy takes a tenth of a second to import

    for raw, plain, hints in (yield from worth_searching(texts)) if texts else ():
        from calipers.guard.text_attacks import attacks_in_text  # noqa: PLC0415 - as above, for many patterns

        yield
        known[raw] = most_certain_of_each_kind((yield from attacks_in_text(raw, plain, hints)))
    yield


def _texts_of(messages: Sequence[Message], start: int) -> list[tuple[int, str]]:
    """Return every text of ``messages[start:]`` that a judge sees, with its message's position, except system messages.

    If the policy's next message continues its text, the end of the first message and the beginning of the next are
    joined and returned as another text.
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
        others: list[str] = []
        _collect_fields(message, others, _DEEPEST, _SEARCHED if isinstance(content, str) else _IDS)
        found += [(index, text) for text in others]
    return found


def _collect(value: Any, found: list[str], depth: int) -> None:
    """Collect the texts in a part of a message, including names and arguments of tool calls and unusual keys."""
    if isinstance(value, str):
        found.append(value)
    elif type(value) is dict or isinstance(value, Mapping):
        _collect_fields(value, found, depth, _IDS)
    elif isinstance(value, list | tuple):
        for inner in value if depth else ():
            _collect(inner, found, depth - 1)


def _collect_fields(fields: Mapping[Any, Any], found: list[str], depth: int, skipped: frozenset[str]) -> None:
    function = fields.get("function")
    if function is not None and _collect_call(function, found):
        return
    for key, value in fields.items() if depth else ():
        if isinstance(value, str):
            if key in skipped:
                continue
            if key in _USUAL_KEYS:
                found.append(value)
                continue
        if key not in _USUAL_KEYS and isinstance(key, str):
            found.append(_split_key(key))
        _collect(value, found, depth - 1)


def _collect_call(function: Any, found: list[str]) -> bool:
    """Collect a function's name and arguments. Return False if these are not two texts."""
    if not isinstance(function, Mapping):
        return False
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, str):
        return False
    found.append(_split_key(name))
    # The arguments are JSON, in which a line break is an escape sequence.
    escaped = "\\" in arguments
    found.append(arguments.replace("\\n", "\n").replace('\\"', '"') if escaped else arguments)
    return True


def _split_key(name: str) -> str:
    return _split_name(name) if len(name) <= _LONGEST_NAME else split_name(name)


_split_name = lru_cache(2**12)(split_name)


def master_key(message: Message) -> str | None:
    """Return a message's text if it is only a master key (an attack by an opening phrase that some judges reward)."""
    key = _master_key(message)
    return None if key is None else key.excerpt


@cache
def _openings() -> frozenset[str]:
    return frozenset(normalize("NFKC", opening) for opening in phrase_list("master_keys"))


def _master_key(message: Message) -> Attack | None:
    """Return a master key as an attack.

    The attack is certain if the content that the phrase announces is missing. Otherwise the text may be a short answer.
    """
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
