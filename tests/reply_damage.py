"""Random verdicts and random damage to them, seeded: what the score reader is measured on besides recorded replies.

``TUNED`` are the damages the reader was written against, ``UNSEEN`` ones it was not. No damage alters a digit of a
score or an id, so the truth stays the truth: a reader may miss a score, but any other number is a wrong one.
"""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

Damage: TypeAlias = Callable[[str, random.Random], str]

_WORDS = (
    "reached the goal", "looped on the search tool", "said it was done", "missed step 3 of 4", "cost 0.5 more",
    "failed at 12:30, then retried", "clear", "ok", "see [1], {x}", "scored 7 points in the quiz", "weak; no test",
    "better than Trajectory 2", "用户满意", "it's fine", "",
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """A reply, what was asked, and what the undamaged reply said."""

    text: str
    ids: tuple[str, ...]
    scale: tuple[float, float]
    truth: dict[str, float]


# --- verdicts -------------------------------------------------------------------------------------------------------


def _rows(truth: dict[str, float], rng: random.Random) -> Any:
    extra = rng.random() < 0.15
    rows = []
    for key, value in truth.items():
        row: dict[str, Any] = {"trajectory_id": key, "explanation": rng.choice(_WORDS), "score": value}
        if extra:
            row["confidence"] = rng.choice((0.3, 0.7, 1, 5))
        rows.append(row)
    return {"scores": rows}


def _map_of_rows(truth: dict[str, float], rng: random.Random) -> Any:
    return {"scores": {key: {"explanation": rng.choice(_WORDS), "score": value} for key, value in truth.items()}}


def _explained(truth: dict[str, float], rng: random.Random) -> Any:
    return {"explanations": {key: rng.choice(_WORDS) for key in truth}, "scores": dict(truth)}


SHAPES: tuple[Callable[[dict[str, float], random.Random], Any], ...] = (
    _rows, _rows, lambda truth, _: dict(truth), _explained, _explained, _map_of_rows,
    lambda truth, rng: {rng.choice(("result", "output", "evaluation")): _rows(truth, rng)},
    lambda truth, rng: _rows(truth, rng)["scores"],
)  # fmt: skip


def verdict(rng: random.Random) -> Sample:
    """An undamaged reply to a question about 2 to 6 candidates, in one of the usual shapes."""
    n = rng.randint(2, 6)
    style = rng.randrange(3)
    if style == 0:
        ids = tuple(str(i + 1) for i in range(n))
    elif style == 1:
        ids = tuple(rng.sample(("RB", "KX", "MK", "QT", "ZW", "HD", "VP"), n))
    else:
        ids = tuple("ABCDEF"[:n])
    percent = rng.random() < 0.5
    truth = {key: float(rng.randint(2, 100)) if percent else round(rng.random(), rng.randint(1, 2)) for key in ids}
    shown = {key: int(value) if percent else value for key, value in truth.items()}
    if rng.random() < 0.3:
        shown = dict(sorted(shown.items(), key=lambda _: rng.random()))
    body = rng.choice(SHAPES)(shown, rng)
    text = json.dumps(body, ensure_ascii=rng.random() < 0.3, indent=rng.choice((None, None, 2)))
    return Sample(text, ids, (0, 100) if percent else (0, 1), truth)


# --- kinds of damage ------------------------------------------------------------------------------------------------


def _replaced(*pairs: tuple[str, str]) -> Damage:
    def damage(text: str, rng: random.Random) -> str:
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return damage


def _substituted(pattern: str, new: str, *others: str) -> Damage:
    """Replaces what the pattern finds by ``new``, or by one of several, drawn once."""

    def damage(text: str, rng: random.Random) -> str:
        return re.sub(pattern, rng.choice((new, *others)) if others else new, text)

    return damage


def _framed(*frames: tuple[str, str]) -> Damage:
    """Puts words before and after, drawn if there are several."""

    def damage(text: str, rng: random.Random) -> str:
        before, after = rng.choice(frames) if len(frames) > 1 else frames[0]
        return before + text + after

    return damage


# --- damages the reader was written against --------------------------------------------------------------------------


def _mark(text: str, rng: random.Random) -> int | None:
    places = [place for place, char in enumerate(text) if char in '{}[]",:']
    return rng.choice(places) if places else None


def drop_structural(text: str, rng: random.Random) -> str:
    at = _mark(text, rng)
    return text if at is None else text[:at] + text[at + 1 :]


def double_structural(text: str, rng: random.Random) -> str:
    at = _mark(text, rng)
    return text if at is None else text[:at] + text[at] + text[at:]


def trailing_commas(text: str, rng: random.Random) -> str:
    return re.sub(r"(?<=[\]}\d\"])(\s*[\]}])", lambda m: "," + m[1] if rng.random() < 0.5 else m[1], text)


def comments(text: str, rng: random.Random) -> str:
    return re.sub(r"([\[{])", lambda m: m[1] + " // note: 0.5\n" if rng.random() < 0.3 else m[1], text)


def thinking(text: str, rng: random.Random) -> str:
    return "<think>\nFirst draft " + re.sub(r"\d\d?(?=[,}\]\s])", "5", text) + " hmm\n</think>\n" + text


def truncate(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


def key_names(text: str, rng: random.Random) -> str:
    name = rng.choice(("id", "candidate", "trajectory", "candidate_id"))
    return text.replace('"trajectory_id"', f'"{name}"').replace('"explanation"', '"reason"')


_SINGLE_QUOTES = ('"', "'")
TUNED: tuple[Damage, ...] = (
    drop_structural, drop_structural, double_structural, trailing_commas,
    _replaced(_SINGLE_QUOTES),
    _substituted(r'"([^"\n]*)"', r"“\1”"),
    _substituted(r'"([A-Za-z_]+)":', r"\1:"),
    comments,
    _substituted(r'",\s*"', '" "'),
    lambda text, _: text.replace("the ", "the\n", 1),
    _replaced(("done", '"done"'), ("goal", '"goal"')),
    _framed(("```json\n", "\n```"), ("```\n", "\n```"), ("```JSON\n", "\n```")),
    _framed(("Here is my evaluation:\n\n", ""), ("Sure! Scores (weights {goal: 0.7, style: 0.3}): ", ""),
            ("Result: ", "")),
    _framed(("", "\n\nLet me know if you need {anything} else!"), ("", "\n\nThese follow the rubric."), ("", "\n.")),
    thinking, truncate,
    lambda text, rng: text[rng.randrange(1, 3) :],
    _substituted(r'": (\d[\d.]*)', r'": "\1"'),
    _substituted(r'"trajectory_id": "', *(f'"trajectory_id": "{prefix}' for prefix in
                                          ("Trajectory ", "trajectory_", "#"))),
    _replaced(('": ', '"：'), ("}, {", "}，{")),
    lambda text, _: text + "\n\n" + text,
    lambda text, _: html.escape(text),
    lambda text, _: json.dumps(text),
    _replaced(('"explanation": ""', '"explanation": None'), _SINGLE_QUOTES),
    _replaced(('"score', '"Score'), ('"trajectory_id"', '"TrajectoryID"')),
    key_names,
)  # fmt: skip


# --- damages it was not written against ------------------------------------------------------------------------------

_SAFE = re.compile(r"[^\d.\-+%/]")
"""Characters whose loss or change cannot alter a number."""
_STRAY = "xq_;|'\"{}[]:,\\ \n\t*#"


def _outside_numbers(text: str, rng: random.Random) -> int | None:
    """A place whose character can be lost or changed and leaves numbers and ids what they are."""
    places = [
        m.start()
        for m in _SAFE.finditer(text)
        if not text[m.start() - 1 : m.start() + 2].strip("0123456789.").isspace()
    ]
    at = rng.choice(places) if places else None
    return None if at is None or _touches_id(text, at) else at


def _touches_id(text: str, at: int) -> bool:
    return any(char.isupper() for char in text[max(at - 1, 0) : at + 2])


def lost_char(text: str, rng: random.Random) -> str:
    at = _outside_numbers(text, rng)
    joins = at is not None and text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()
    return text if at is None or joins else text[:at] + text[at + 1 :]


def changed_char(text: str, rng: random.Random) -> str:
    at = _outside_numbers(text, rng)
    return text if at is None else text[:at] + rng.choice(_STRAY) + text[at + 1 :]


def added_char(text: str, rng: random.Random) -> str:
    at = _outside_numbers(text, rng)
    return text if at is None else text[:at] + rng.choice(_STRAY) + text[at:]


def swapped_chars(text: str, rng: random.Random) -> str:
    at = _outside_numbers(text, rng)
    if at is None or not _SAFE.fullmatch(text[at + 1 : at + 2]) or _touches_id(text, at + 1):
        return text
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def stutter(text: str, rng: random.Random) -> str:
    """A stretch said twice, as models in a loop do; cut so that no number is split."""
    ends = [m.end() for m in re.finditer(r"[,:{}\[\]]", text)]
    if len(ends) < 4:
        return text
    start, end = sorted(rng.sample(ends, 2))
    end = min(end, start + 60) if end - start <= 60 else end
    return text[:end] + text[start:end] + text[end:]


def lost_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    if len(lines) < 4:
        return text
    at = rng.choice([i for i, line in enumerate(lines) if not re.search(r"\d|id", line)] or [0])
    return "\n".join(lines[:at] + lines[at + 1 :])


UNSEEN: tuple[Damage, ...] = (
    lost_char, lost_char, changed_char, added_char, swapped_chars, stutter, lost_line,
    _replaced(("\n", "\r\n")),
    _framed(("\ufeff", "")),
    lambda text, _: "\n".join("    " + line for line in text.split("\n")),
    _framed(("**Final scores**\n\n", "\n\n---\n")),
    _replaced((": ", ":\u00a0"), (", ", ",\u2003")),
    _framed(("My verdict is `", "`.")),
    _framed(('<tool_call>\n{"name": "submit_scores", "arguments": ', "}\n</tool_call>")),
    lambda text, _: json.dumps({"name": "submit", "arguments": text}),
    _framed(("", "\n\nNote: as an AI I may be wrong about 2 of these 3 runs.")),
    _replaced(('", "', '"; "')),
    _replaced(('": ', '" = ')),
    _replaced(('": ', '" => ')),
)  # fmt: skip


def damaged(seed: int, damages: tuple[Damage, ...] = TUNED, most: int = 3) -> Sample:
    """The verdict of ``seed`` with up to ``most`` damages drawn from ``damages``."""
    rng = random.Random(seed)
    sample = verdict(rng)
    text = sample.text
    chosen = [rng.choice(damages) for _ in range(rng.randint(0, most))]
    if chosen.count(thinking) > 1:  # reasoning does not nest
        chosen = list(dict.fromkeys(chosen))
    chosen.sort(key=lambda damage: damage is truncate)  # a server cuts what the judge wrote, never the other way round
    for damage in chosen:
        text = damage(text, rng)
    return replace(sample, text=text)
