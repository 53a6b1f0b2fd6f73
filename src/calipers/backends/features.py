"""Counts what a candidate did and how its siblings compare, for the judges in this process: embedded and local.

Any form of message is read, and a bounded part of it. Sums over siblings are exact, so that their order never matters.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from calipers.types import Message

FEATURES = (
    "silent", "refusal", "coverage", "scant", "centrality", "figures", "tool_errors", "wrong_sums",
    "addresses_judge",
)  # fmt: skip
"""The features in the order of ``Measured.values``, each in [0, 1]."""

_MESSAGES = 256
_CHARACTERS = 8_000
"""Of a longer message, the beginning and the end are read."""
_PARTS = 64
"""At most this many parts of a message are read."""
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
_SUM = re.compile(rf"(?<![\w.,%)+*/=×÷^-])({_VALUE})\s?([-+*/x×÷])\s?({_VALUE})\s?=\s?(-?{_VALUE})(?![\d%^])")
_FAILED = re.compile(
    r"^[\s#*>(\[-]*(?:error|exception|traceback|failed|failure|fatal)\b"
    r"|\"(?:error|exception)\"\s*:(?!\s*(?:null|false|\"\"|\{\}|\[\]|0\b))|\"(?:success|ok)\"\s*:\s*false"
    r"|\b[A-Z][A-Za-z]{2,30}(?:Error|Exception): ",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry,? but|unable|not able)|i (?:can(?:'t|not| not)|won't|must decline)|as an ai)\b"
    r"|我(?:不能|无法|無法)|抱歉|申し訳|죄송"
)
_TO_JUDGE = re.compile(
    r"(?:ignore|disregard|forget) (?:all |any |every |the |your )*(?:previous|prior|above|earlier|other) "
    r"(?:instructions?|prompts?|rubrics?|candidates?|answers?)\b|"
    r"(?:dear|note to (?:the )?|attention,?) ?(?:judges?|graders?|evaluators?)\b|"
    r"(?:score|rate|grade|rank|give|award) (?:this|me) (?:\w+ )?(?:(?:a|an|as|at|the|score|of|with) )*"
    r"(?:100|10/10|highest|full marks|perfect|first|maximum|top|best)\b|(?:给|給|打).{0,6}(?:满分|滿分|最高分)"
)


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate for a judge in this process: its feature values in the order of FEATURES, and what they are from.

    ``counts`` are those that an explanation mentions. ``answer`` is the assistant's text after the last tool result, or
    its last text. ``has_tools`` is True if it used a tool.
    """

    values: tuple[float, ...]
    counts: Mapping[str, tuple[int, int]]
    answer: str
    task: str
    has_tools: bool


# --- what a candidate did ---------------------------------------------------------------------------------------------


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
    return _shortened("\n".join(asked))


def _read_own(messages: Sequence[Message]) -> tuple[str, str, list[bool]]:
    """Return a candidate's answer, all its text, and for each tool result whether it is an error."""
    seen = messages if len(messages) <= _MESSAGES else [*messages[:32], *messages[-(_MESSAGES - 32) :]]
    spoken, after, failed = list[str](), list[str](), list[bool]()
    for message in seen:
        role, text = message.get("role"), _text(message)
        if role in ("tool", "function"):
            after = []
            failed.append(message.get("is_error") is True or bool(_FAILED.search(text[:400])))
        elif role == "assistant" and text:
            spoken.append(text)
            after.append(text)
    return "\n".join(after or spoken[-1:]), _shortened("\n".join(spoken), 8 * _CHARACTERS), failed


def _text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        parts = [part.get("text") for part in content[:_PARTS] if isinstance(part, Mapping)]
        content = "\n".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return ""
    if message.get("role") == "assistant":
        content = content.rpartition(_THOUGHT_END)[2]
    return _shortened(content).strip()


def _shortened(text: str, most: int = _CHARACTERS) -> str:
    tail = most // 4
    return text if len(text) <= most else f"{text[: most - tail]}\n{text[-tail:]}"


# --- words ------------------------------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    """Return a text's lower-cased words, and overlapping pairs of characters in scripts without spaces."""
    if text.isascii() or not _UNSPACED.search(text):
        return _WORD.findall(text.lower())
    tokens: list[str] = []
    for word in _WORD.findall(text.lower()):
        pairs = _UNSPACED.search(word)
        tokens.extend([word[i : i + 2] for i in range(max(1, len(word) - 1))] if pairs else [word])
    return tokens


def terms(tokens: Sequence[str]) -> set[str]:
    """Return the stems of meaningful words, numbers and pairs of characters."""
    return {
        word if word.isdigit() else word[:_STEM]
        for word in tokens
        if word.isdigit() or ((len(word) > 3 or not word.isascii()) and word not in _STOP)
    }


def _numbers(text: str) -> set[str]:
    """Return the numbers in a text without separators, and without zeros at the end of a fraction."""
    plain = (number.replace(",", "") for number in _NUMBER.findall(text[-_CHARACTERS:]))
    return {number.rstrip("0").rstrip(".") if "." in number else number for number in plain}


# --- the features -----------------------------------------------------------------------------------------------------


def measure_features(
    candidates: Sequence[Sequence[Message]], *, prefix_length: int = 0, copies: Sequence[int] | None = None
) -> tuple[Measured, ...]:
    """Return the features of each candidate, in the order given, for a judge in this process.

    ``candidates`` are whole message lists whose first ``prefix_length`` messages are shared. ``copies`` holds for each
    the number of identical trajectories that it represents (default 1); comparisons with siblings count every copy.
    """
    start = _own_start(candidates, prefix_length)
    weights = list(copies) if copies is not None else [1] * len(candidates)
    own = [_read_own(messages[start:]) for messages in candidates]
    tasks = [_task_text(messages[:start], messages[start:]) for messages in candidates]
    answers = [words(answer) for answer, *_ in own]
    lengths = [math.log(1 + len(tokens)) for tokens in answers]
    mean = math.fsum(n * length for n, length in zip(weights, lengths, strict=True)) / max(1, sum(weights))
    centrality = _agreement([terms(tokens) for tokens in answers], weights)
    numbers = [_numbers(answer) - _numbers(task) for (answer, *_), task in zip(own, tasks, strict=True)]
    figures = _agreement(numbers, weights)
    measured = []
    for i, ((answer, speech, failed), task) in enumerate(zip(own, tasks, strict=True)):
        asked = terms(words(task))
        counts = {
            "coverage": (len(terms(words(speech)) & asked), len(asked)),
            "tool_errors": (sum(failed), len(failed)),
            "wrong_sums": _wrong_sums(answer),
        }
        values = {name: part / whole if whole else 0.0 for name, (part, whole) in counts.items()} | {
            "silent": float(not answer),
            "refusal": float(bool(_REFUSAL.search(_plain(answer[:300])))),
            # Below half the group's mean length.
            "scant": max(0.0, min(1.0, (mean - lengths[i]) / math.log(4) - 0.5)),
            "centrality": centrality[i],
            "figures": figures[i],
            "addresses_judge": float(bool(_TO_JUDGE.search(_plain(speech)))),
        }
        measured.append(Measured(tuple(values[name] for name in FEATURES), counts, answer, task, bool(failed)))
    return tuple(measured)


def _wrong_sums(answer: str) -> tuple[int, int]:
    """Return how many calculations of two numbers, like ``3 * 60 = 180``, are wrong, and how many were checked."""
    checked = wrong = 0
    for first, sign, second, shown in _SUM.findall(answer)[:64]:
        left, right, stated = (float(number.replace(",", "")) for number in (first, second, shown))
        if sign in "/÷" and right == 0:
            continue
        value = {"+": left + right, "-": left - right}.get(sign)
        if value is None:
            value = left / right if sign in "/÷" else left * right
        decimals = len(shown.partition(".")[2])
        checked += 1
        wrong += abs(value - stated) > 0.51 * 10.0**-decimals + 1e-9 * abs(value)
    return wrong, checked


def _plain(text: str) -> str:
    return text.lower().replace("’", "'")


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
