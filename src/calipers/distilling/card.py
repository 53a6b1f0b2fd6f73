"""Writes a local judge's card in plain words: what it learned, how far it agrees, where it is weak, how it is gamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def card_text(figures: Mapping[str, Any]) -> str:
    """Return the card of a local judge as Markdown, from its ``figures``."""
    lines = [f"# {figures['name']}", "", _summary(figures), ""]
    if figures["findings"]:
        lines += ["## Read this first", "", *(f"- {finding}" for finding in figures["findings"]), ""]
    for heading, rows in (
        ("How far it agrees, on prompts that it was not trained on", _agreement(figures)),
        ("Where it is weak", _parts(figures["parts"])),
        ("How sure it is", _honesty(figures)),
        ("How easily it is gamed", _tricks(figures)),
        ("What it does not do", iter(_LIMITS)),
    ):
        lines += [f"## {heading}", "", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


_LIMITS = """\
- It reads no rubric and checks no criteria. It learned the rubric of the runs that it was distilled from.
- It knows no facts. It sees form, overlap with the task, tool results, and what the siblings say.
- It abstains on groups with tools where it learned from none (or the other way round), with answers of another length,
  and on tasks whose words it does not know (also of another language).
- Agreement on recorded answers is not agreement during training: a policy that is optimised against it leaves what it
  knows. Let a strong judge see a random share of the groups.""".splitlines()


def _summary(figures: Mapping[str, Any]) -> str:
    return (
        f"A small local judge, distilled from {figures['groups']:,} groups of "
        f"{figures['prompts']:,} prompts ({figures['candidates']:,} candidates). It learned from the scores of: "
        f"{', '.join(figures['teachers'])}."
    )


def _agreement(figures: Mapping[str, Any]) -> Iterator[str]:
    rows = figures["agreement"]
    names = {
        "teacher": "with its teacher",
        "gold": "with gold",
        "teacher_and_gold": "its teacher with gold",
        "longest": "the longest answer with the teacher",
        "overlap": "overlap with the task with the teacher",
        "above_longest": "what it is better by than the longest answer",
        "above_overlap": "what it is better by than overlap",
    }
    yield "| within-group correlation | mean | 95 % interval | groups |"
    yield "|---|---|---|---|"
    for key, name in names.items():
        if key in rows:
            yield f"| {name} | {_number(rows[key]['value'])} | {_interval(rows[key])} | {rows[key]['groups']:,} |"
    if rows["pairs"] is not None:
        yield ""
        yield f"Of pairs that the teacher ranks, it ranks {rows['pairs']:.0%} the same way (chance is 50 %)."


def _parts(parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not parts:
        yield "No part of the groups is large enough to be measured alone."
        return
    yield "| groups | correlation with the teacher | 95 % interval | groups |"
    yield "|---|---|---|---|"
    for part in parts:
        yield f"| {part['part']} | {_number(part['value'])} | {_interval(part)} | {part['groups']:,} |"


def _honesty(figures: Mapping[str, Any]) -> Iterator[str]:
    within, ratio = figures["honesty"]["within_95"], figures["honesty"]["ratio"]
    yield (
        f"Its standard error is {figures['stderr']:.3f} on a scale of 0 to 1, the same for all groups; near the ends "
        "of the scale it states less."
    )
    if within is not None:
        yield (
            f"Of its errors against the teacher on other prompts, {within:.0%} are within 1.96 standard errors "
            f"(honest: 95 %), and they are {ratio:.2f} times as large as stated."
        )


def _tricks(figures: Mapping[str, Any]) -> Iterator[str]:
    yield "The teacher's worst candidate of a group plays a trick that makes it no better."
    yield ""
    yield "| the candidate | first in its group before | after | gain, in spreads | groups |"
    yield "|---|---|---|---|---|"
    for row in figures["tricks"]:
        yield (
            f"| {row['trick']} | {row['first_before']:.0%} | {row['first_after']:.0%} | {row['gain']:+.2f} | "
            f"{row['groups']:,} |"
        )


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:+.3f}"


def _interval(one: Mapping[str, Any]) -> str:
    interval = one["interval"]
    return "unknown" if interval is None else f"{interval[0]:+.3f} to {interval[1]:+.3f}"
