"""Judged groups as plain text for a terminal: a line for each group, or one group with ranking, words and questions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from calipers.types.encoding import to_json_text

_SHORT: Final = 400
"""Characters of a message that are shown unless everything is wanted."""
_MESSAGES: Final = 3


def overview_line(row: Mapping[str, Any], detail: Mapping[str, Any]) -> str:
    """Return a line about a group of a report: id, status, the best candidate, the range of scores, and flags."""
    ranked = _ranked(detail["trajectories"])
    best = next((trajectory for trajectory in ranked if trajectory["reward"] is not None), None)
    scores = [score for score, _, _ in row["scores"] if score is not None]
    spread = f"spread {max(scores) - min(scores):.3f}" if len(scores) > 1 else ""
    first = "" if best is None else f"best {_short(best['id'], 24)} {best['reward']:.3f}"
    flags = ", ".join(flag for flag in row["flags"] if flag != row["status"])
    return f"{_short(row['id'], 32):<32}  {row['status']:<9}  {first:<36}  {spread:<12}  {flags}".rstrip()


def describe_group(detail: Mapping[str, Any], *, width: int, full: bool = False) -> str:
    """Return a group of a report as text of at most ``width`` columns: prompt, ranking, answers, warnings, questions.

    With ``full``, messages are not shortened.
    """
    flags = [flag for flag in detail["flags"] if flag != detail["status"]]
    lines = [f"group {detail['id']}: {detail['status']}" + (f" ({', '.join(flags)})" if flags else "")]
    shared = detail["shared"]
    if shared:
        lines += ["", "prompt", *_messages(shared, width=width, full=full)]
    lines += ["", *_ranking(detail["trajectories"]), *_reliability(detail["reliability"])]
    for trajectory in _ranked(detail["trajectories"]):
        lines += ["", *_trajectory(trajectory, width=width, full=full)]
    if detail["warnings"]:
        lines += ["", "warnings"]
        for warning in detail["warnings"]:
            lines += _wrapped(warning, width=width, indent=2)
    if detail["questions"]:
        lines += ["", "questions"]
        for question in detail["questions"]:
            lines += _wrapped(_question(question), width=width, indent=2)
    return "\n".join(lines)


def _ranked(members: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the trajectories, best reward first, those without a reward last."""
    return sorted(
        members, key=lambda member: (member["reward"] is None, -member["reward"] if member["reward"] is not None else 0)
    )


def _ranking(members: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    ids = max(len(_short(member["id"], 32)) for member in members) if members else 0
    rewards = [member["reward"] for member in members if member["reward"] is not None]
    has_gold = any(member.get("gold") is not None for member in members)
    yield f"rank  {'':<{ids}}  reward  {'  gold   ' if has_gold else ''}score, 95 % interval"
    for row in _ranked(members):
        name = f"{_short(row['id'], 32):<{ids}}"
        if row["reward"] is None:
            yield f"   -  {name}  {row['status']}" + (f", gold {_gold(row).strip()}" if has_gold else "")
            continue
        score = "-" if row["score"] is None else f"{row['score']:.3f}"
        error = "" if row["margin"] is None else f" ± {row['margin']:.3f}"
        rank = 1 + sum(reward > row["reward"] for reward in rewards)
        tied = "=" if rewards.count(row["reward"]) > 1 else " "
        gold = f"{_gold(row):>6} {'≠' if row['wrong_sign'] else ' '} " if has_gold else ""
        yield f"{rank:>4}{tied} {name}  {row['reward']:>6.3f}  {gold}{score}{error}".rstrip()
    if any(member.get("wrong_sign") for member in members):
        yield "≠: the reward less the group's mean has the other sign than gold less its mean"


def _gold(one: Mapping[str, Any]) -> str:
    return "-" if one["gold"] is None else f"{one['gold']:.4g}"


def _reliability(found: Mapping[str, Any]) -> Iterator[str]:
    if found["value"] is not None:
        interval = found["interval"]
        bounds = "" if interval is None else f", 95 % interval {interval[0]:.2f} to {interval[1]:.2f}"
        yield f"reliability of these scores: {found['value']:.2f}{bounds}"


def _trajectory(one: Mapping[str, Any], *, width: int, full: bool) -> Iterator[str]:
    yield one["id"]
    if one["explanation"]:
        yield from _wrapped(f"judge: {one['explanation']}", width=width, indent=2)
    if one["reason"]:
        yield from _wrapped(f"{one['status']}: {one['reason']}", width=width, indent=2)
    for hit in one["attacks"]:
        warning = f"addresses the judge ({hit['certainty']}, {hit['kind']}, message {hit['message']}): {hit['excerpt']}"
        yield from _wrapped(warning, width=width, indent=2)
    for verdict in one["criteria"]:
        met = {True: "met", False: "not met"}.get(verdict.get("met"), "no verdict")
        if (text := f"{verdict['id']}: {met}") not in (one["explanation"] or ""):
            yield from _wrapped(text, width=width, indent=2)
    if one["messages"] is not None:
        yield from _messages(one["messages"], width=width, full=full)


def _messages(messages: Sequence[Mapping[str, Any]], *, width: int, full: bool) -> Iterator[str]:
    shown = messages if full else messages[-_MESSAGES:]
    if len(shown) < len(messages):
        hidden = len(messages) - len(shown)
        yield f"  … {hidden} earlier message{'s' * (hidden > 1)} (--full shows all)"
    for message in shown:
        text = _text(message)
        if not full and len(text) > _SHORT:
            text = f"{text[:_SHORT]} … ({len(text):,} characters; --full shows all)"
        yield from _wrapped(f"{message.get('role', '?')}: {text}", width=width, indent=2)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = [content] if isinstance(content, str) else content if isinstance(content, list | tuple) else []
    texts = [part if isinstance(part, str) else str(part.get("text") or "[image]") for part in parts]
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        function = call.get("function") or {}
        arguments = function.get("arguments")
        shown_arguments = arguments if isinstance(arguments, str) else to_json_text(arguments)
        texts.append(f"calls {function.get('name')} {shown_arguments}")
    return "\n".join(text for text in texts if text) or "(empty)"


def _question(question: Mapping[str, Any]) -> str:
    values = {row["item"]: row["value"] for row in question["judgments"] if "item" in row and "value" in row}
    shown = [f"{name} {values[name]:.2f}" for name in question["order"] if name in values]
    judge = f" {question['judge']}" if question["judge"] else ""
    reason = f": {question['reason']}" if question["reason"] else ""
    order = f", shown {', '.join(shown)}" if shown else ""
    return f"{question['number']}{judge}, {question['cause']}, {question['outcome']}{reason}{order}"


def _wrapped(text: str, *, width: int, indent: int = 0) -> Iterator[str]:
    for line in text.splitlines() or [""]:
        yield textwrap.fill(
            line, max(width, 40), initial_indent=" " * indent, subsequent_indent=" " * (indent + 2),
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
