"""Counts what a candidate did and how its siblings compare, for the judges in this process: embedded and local.

Any form of message is read, and a bounded part of it. Sums over siblings are exact, so that their order never matters.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.types import Message

FEATURES = (
    "silent", "unfinished", "refusal", "coverage", "scant", "consensus", "centrality", "figures", "actions",
    "tool_errors", "loops", "wrong_sums", "addresses_judge",
)  # fmt: skip
"""The features in the order of ``Measured.values``, each in [0, 1]."""

_MESSAGES = 256
_CHARACTERS = 64_000
_MESSAGE_CHARACTERS = 8_000
_CALLS = 32
_PARTS = 64
_THOUGHT_END = "</think>"
_STEM = 5
"""How many first letters of words are compared: rough, fast, and the same for all languages with spaces."""

_WORD = re.compile(r"[^\W_]+")
# Scripts without spaces, and Hangul, whose words inflect: their terms are pairs of characters.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_STOP = frozenset(
    _WORD.findall(
        "about after also because been before being between could does each from have here into just like make more "
        "most much need only other please same should some such than that their them then there these they this those "
        "through under until very want were what when where which while whom will with would your using write give "
        "given following based answer question tell"
    )
)
_VALUE = r"\d[\d,]{0,14}(?:\.\d{1,9})?"
_NUMBER = re.compile(_VALUE)
_CONCLUSION = re.compile(
    rf"(?:\\boxed\{{\s*|####\s*|\b(?:answer|result|total)(?: is| =|:)|答案|答え)[^\n\d]{{0,12}}(-?{_VALUE})",
    re.IGNORECASE,
)
_SUM = re.compile(rf"(?<![\w.,%)+*/=×÷^-])\$?({_VALUE})\s?([-+*/x×÷])\s?\$?({_VALUE})\s?=\s?\$?(-?{_VALUE})(?![\d%^])")
_FAILED = re.compile(
    r"^[\s#*>(\[-]*(?:(?:error|exception|traceback|failed|failure|fatal)\b|错误|エラー|오류)|"
    r"\"(?:error|exception)\"\s*:(?!\s*(?:null|false|\"\"|\{\}|\[\]|0\b))|\"is_?error\"\s*:\s*true|"
    r"\"(?:success|ok)\"\s*:\s*false|\"status\"\s*:\s*\"(?:error|failed|failure)\"|"
    r"\b[A-Z][A-Za-z]{2,30}(?:Error|Exception): ",
    re.IGNORECASE,
)
_LOOKUP = re.compile(
    r"(?:^|[._/-])(?:get|search|list|find|read|look|lookup|fetch|query|calculate|compute|think|check|view|describe|"
    r"show|count|verify|open|grep|cat|ls|python)(?:$|[._/-]|(?=[A-Z]))"
)
"""Names of tools that change nothing."""
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry,? but|unable|not able)|i (?:can(?:'t|not| not)|won't|must decline)|as an ai|"
    r"je ne peux pas|no puedo|ich kann (?:\w+ )?nicht)\b|我(?:不能|无法|無法)|抱歉|申し訳|죄송"
)
_TO_JUDGE = re.compile(
    r"(?:ignore|disregard|forget) (?:all |any |every |the |your )*(?:previous|prior|above|earlier|other) "
    r"(?:instructions?|prompts?|rubrics?|candidates?|answers?)\b|"
    r"(?:dear|note to (?:the )?|attention,?) ?(?:judges?|graders?|evaluators?)\b|"
    r"(?:score|rate|grade|rank|give|award) (?:this|me) (?:\w+ )?(?:(?:a|an|as|at|the|score|of|with) )*"
    r"(?:100|10/10|highest|full marks|perfect|first|maximum|top|best)\b|(?:给|給|打).{0,6}(?:满分|滿分|最高分)"
)


@dataclass(frozen=True, slots=True)
class Call:
    """A candidate's tool call with its result, or None without one."""

    name: str
    arguments: str
    result: str | None
    failed: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a candidate did, for a judge in this process. ``answer`` is the assistant's text after the last tool
    result, or its last text; ``speech`` is all its text. ``unfinished``: it ends with a tool call or a tool result.
    """

    answer: str
    speech: str
    calls: tuple[Call, ...]
    unfinished: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate's feature values, in the order of FEATURES, the counts that an explanation mentions, what it did, and
    its task.
    """

    values: tuple[float, ...]
    counts: Mapping[str, tuple[int, int]]
    evidence: Evidence
    task: str


def _own_start(candidates: Sequence[Sequence[Message]], prefix_length: int) -> int:
    """Return the index of a candidate's first own message: the one after the last shared message of a user or the
    system.

    Steps that all trajectories share count for each. A single candidate shares all messages with itself, so its own
    begin with the assistant's first.
    """
    roles = [message.get("role") for message in candidates[0][:prefix_length]] if candidates else []
    if len(candidates) == 1:
        return next((i for i, role in enumerate(roles) if role == "assistant"), len(roles))
    return max((i + 1 for i, role in enumerate(roles) if role not in ("assistant", "tool", "function")), default=0)


def _task_text(prefix: Sequence[Message], messages: Sequence[Message]) -> str:
    """Return the candidates' task: the user's text in the shared prefix, or the first user message without such."""
    asked = [text for message in prefix[-16:] if message.get("role") == "user" and (text := _text(message))]
    if not asked:
        asked = [text for message in messages[:8] if message.get("role") == "user" and (text := _text(message))][:1]
    return _shortened("\n".join(asked), _MESSAGE_CHARACTERS)


def _read_evidence(messages: Sequence[Message]) -> Evidence:
    """Return what a candidate did, from its own messages."""
    seen = messages if len(messages) <= _MESSAGES else [*messages[:32], *messages[-(_MESSAGES - 32) :]]
    texts, left = [""] * len(seen), _CHARACTERS
    for i in range(len(seen) - 1, -1, -1):
        texts[i] = _shortened(_text(seen[i]), min(_MESSAGE_CHARACTERS, left)) if left > 0 else ""
        left -= len(texts[i])
    roles = [message.get("role") for message in seen]
    spoken = [(i, text) for i, text in enumerate(texts) if roles[i] == "assistant" and text]
    last_result = max((i for i, role in enumerate(roles) if role in ("tool", "function")), default=-1)
    after = [text for i, text in spoken if i > last_result]
    ends = [i for i, role in enumerate(roles) if role in ("assistant", "tool", "function", "user")]
    return Evidence(
        answer="\n".join(after) if after else (spoken[-1][1] if spoken else ""),
        speech="\n".join(text for _, text in spoken),
        calls=_calls(seen, texts),
        unfinished=bool(ends) and (roles[ends[-1]] in ("tool", "function") or bool(_called(seen[ends[-1]]))),
    )


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        parts = [part.get("text") for part in content[:_PARTS] if isinstance(part, Mapping)]
        content = "\n".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return ""
    if message.get("role") == "assistant" and _THOUGHT_END in content:
        content = content[content.rfind(_THOUGHT_END) + len(_THOUGHT_END) :]
    return _shortened(content, 2 * _MESSAGE_CHARACTERS).strip()


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    tail = limit // 4
    return text[: limit - tail] + "\n" + text[len(text) - tail :]


def _called(message: Message) -> Sequence[Any]:
    calls = message.get("tool_calls")
    return calls[:_CALLS] if isinstance(calls, (list, tuple)) else ()


def _calls(messages: Sequence[Message], texts: Sequence[str]) -> tuple[Call, ...]:
    """Return every tool call with its result, found by its id."""
    results: dict[object, tuple[str, bool]] = {}
    for message, text in zip(messages, texts, strict=True):
        call_id = message.get("tool_call_id")
        if message.get("role") in ("tool", "function") and isinstance(call_id, str):
            results[call_id] = (text, message.get("is_error") is True or bool(_FAILED.search(text[:400])))
    found = []
    for call in (call for message in messages for call in _called(message)):
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            call_id = call.get("id")
            result, failed = results.get(call_id if isinstance(call_id, str) else None, (None, False))
            name, arguments = str(function.get("name"))[:100], str(function.get("arguments"))[:_MESSAGE_CHARACTERS]
            found.append(Call(name, arguments, result, failed))
    return tuple(found)


def words(text: str) -> list[str]:
    """Return a text's lower-cased words, and overlapping pairs of characters in scripts without spaces."""
    if text.isascii() or not _UNSPACED.search(text):
        return _WORD.findall(text.lower())
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        pairs = _UNSPACED.search(word)
        found.extend([word[i : i + 2] for i in range(max(1, len(word) - 1))] if pairs else [word])
    return found


def terms(tokens: Sequence[str]) -> set[str]:
    """Return the stems of meaningful words, numbers and pairs of characters."""
    return {
        word if word.isdigit() else word[:_STEM]
        for word in tokens
        if word.isdigit() or ((len(word) > 3 or not word.isascii()) and word not in _STOP)
    }


def script(text: str) -> str:
    """Return the prevailing script of a text, for a judge in this process: ``unspaced``, ``latin`` or ``other``, or ""
    for a text without letters. Only its first 2,000 characters are counted.
    """
    head = text[:2000]
    letters = sum(map(str.isalpha, head))
    if not letters:
        return ""
    unspaced = sum(map(len, _UNSPACED.findall(head)))
    latin = sum(character.isalpha() and character < "\u0250" for character in head)
    # A CJK character carries about as much as three letters.
    return "unspaced" if 3 * unspaced > letters - unspaced else ("latin" if 2 * latin > letters else "other")


def measure_features(
    candidates: Sequence[Sequence[Message]], *, prefix_length: int = 0, copies: Sequence[int] | None = None
) -> tuple[Measured, ...]:
    """Return the features of each candidate, in the order given, for a judge in this process.

    ``candidates`` are whole message lists whose first ``prefix_length`` messages are shared. ``copies`` holds for each
    the number of identical trajectories that it represents (default 1); comparisons with siblings count every copy.
    """
    start = _own_start(candidates, prefix_length)
    weights = list(copies) if copies is not None else [1] * len(candidates)
    evidence = [_read_evidence(messages[start:]) for messages in candidates]
    tasks = [_task_text(messages[:start], messages[start:]) for messages in candidates]
    answers = [words(one.answer) for one in evidence]
    lengths = [math.log(1 + len(tokens)) for tokens in answers]
    mean = math.fsum(n * length for n, length in zip(weights, lengths, strict=True)) / max(1, sum(weights))
    numbers = [frozenset(_numbers(one.answer)) - set(_numbers(task)) for one, task in zip(evidence, tasks, strict=True)]
    worked = [[call for call in one.calls if not call.failed and not _LOOKUP.search(call.name)] for one in evidence]
    centrality = _agreement([terms(tokens) for tokens in answers], weights)
    figures = _agreement(numbers, weights)
    actions = _agreement([{(call.name, _comparable(call.arguments)) for call in calls} for calls in worked], weights)
    consensus = _same_conclusion([_conclusion(one.answer) for one in evidence], weights)
    measured = []
    for i, (one, task) in enumerate(zip(evidence, tasks, strict=True)):
        asked, calls = terms(words(task)), one.calls
        counts = {
            "coverage": (len(terms(words(one.speech)) & asked), len(asked)),
            "tool_errors": (sum(call.failed for call in calls), len(calls)),
            "loops": (len(calls) - len({(call.name, call.arguments, call.result) for call in calls}), len(calls)),
            "wrong_sums": _wrong_sums(one.answer),
            "consensus": consensus[i],
        }
        low = one.speech[: _CHARACTERS // 2].lower().replace("’", "'")
        values = {name: part / whole if whole else 0.0 for name, (part, whole) in counts.items()} | {
            "silent": float(not one.answer),
            "unfinished": float(one.unfinished),
            "refusal": float(bool(_REFUSAL.search(one.answer[:300].lower().replace("’", "'")))),
            # Below half the group's mean length.
            "scant": max(0.0, min(1.0, (mean - lengths[i]) / math.log(4) - 0.5)),
            "centrality": centrality[i],
            "figures": figures[i],
            "actions": actions[i],
            "addresses_judge": float(bool(_TO_JUDGE.search(low))),
        }
        measured.append(Measured(tuple(values[name] for name in FEATURES), counts, one, task))
    return tuple(measured)


def _comparable(arguments: str) -> str:
    """Return a tool call's arguments without the order of keys and the spacing."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _numbers(text: str) -> list[str]:
    return [_plain_number(found) for found in _NUMBER.findall(text[-_MESSAGE_CHARACTERS:])]


def _plain_number(number: str) -> str:
    bare = number.replace(",", "")
    return bare.rstrip("0").rstrip(".") if "." in bare else bare


def _conclusion(answer: str) -> str | None:
    """Return the last number that is marked as the answer; in a very short text without a mark, its last number."""
    found = _CONCLUSION.findall(answer[-600:]) or (_NUMBER.findall(answer) if len(answer) <= 80 else [])
    return _plain_number(found[-1]) if found else None


def _wrong_sums(answer: str) -> tuple[int, int]:
    """Return how many calculations of two numbers, like ``3 * 60 = 180``, are wrong, and how many were checked."""
    checked = wrong = 0
    for found in _SUM.findall(answer[-_MESSAGE_CHARACTERS:])[:64]:
        left, right, shown = (float(found[i].replace(",", "")) for i in (0, 2, 3))
        if found[1] in "/÷" and right == 0:
            continue
        value = {"+": left + right, "-": left - right}.get(found[1])
        if value is None:
            value = left / right if found[1] in "/÷" else left * right
        decimals = len(found[3].partition(".")[2])
        checked += 1
        wrong += abs(value - shown) > 0.51 * 10.0**-decimals + 1e-9 * abs(value)
    return wrong, checked


def _agreement(sets: Sequence[Collection[object]], weights: Sequence[int]) -> list[float]:
    """Return the Dice overlap of each set with its siblings' sets, counting copies: 1 = all equal, 0 = nothing shared.

    Elements are counted over all sets instead of comparing pairs, so that the time is linear in the sizes of the sets.
    """
    everyone = sum(weights)
    if everyone < 2:
        return [0.0] * len(sets)
    holders: Counter[object] = Counter()
    for elements, weight in zip(sets, weights, strict=True):
        for element in elements:
            holders[element] += weight
    mass = sum(weight * len(elements) for elements, weight in zip(sets, weights, strict=True))
    empty = sum(weight for elements, weight in zip(sets, weights, strict=True) if not elements)
    shares = []
    for elements in sets:
        shared = sum(holders[element] - 1 for element in elements)
        size = (everyone - 1) * len(elements) + mass - len(elements)
        shares.append(2 * shared / size if elements else (empty - 1) / (everyone - 1))
    return shares


def _same_conclusion(conclusions: Sequence[str | None], weights: Sequence[int]) -> list[tuple[int, int]]:
    """Return for each candidate how many of its siblings conclude with the same number, and how many siblings it has.

    (0, 0) for all if fewer than half of the candidates conclude with a number.
    """
    everyone = sum(weights)
    held: Counter[str | None] = Counter()
    for conclusion, weight in zip(conclusions, weights, strict=True):
        held[conclusion] += weight
    if everyone < 3 or 2 * (everyone - held[None]) < everyone:
        return [(0, 0)] * len(conclusions)
    return [(held[one] - 1 if one is not None else 0, everyone - 1) for one in conclusions]
