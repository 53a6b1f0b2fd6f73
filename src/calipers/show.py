"""What a person reads: a judge's answer (``debug=True``) and a ranked group.

Plain text to stderr or to a string; colours and tables are the command line's.
"""

from __future__ import annotations

import sys
import textwrap

from calipers.types import Completion, GroupResult, JudgeRequest, Reading

_WIDTH = 110


def print_answer(request: JudgeRequest, completion: Completion, reading: Reading) -> None:
    """Print one answer to stderr: who was asked what, what the judge thought, what it wrote, what was read."""
    sys.stderr.write(describe_answer(request, completion, reading))


def describe_answer(request: JudgeRequest, completion: Completion, reading: Reading) -> str:
    """One answer as indented plain text, with trajectory ids in place of the opaque names."""
    ask, view = request.ask, request.view
    shown = [view.ids[members[0]] if (members := view.candidates[item].members) else "(canary)" for item in ask.order]
    names = ", ".join(f"{key}={trajectory}" for key, trajectory in zip(request.keys, shown, strict=True))
    lines = [f"[calipers] group {view.group_id}, question {ask.number} ({ask.cause}), shown as {names}"]
    if completion.reasoning:
        lines += ["  the judge's reasoning:", _block(completion.reasoning)]
    lines += ["  the judge's reply:", _block(completion.text or "(empty)"), f"  read as: {reading.outcome}"]
    if reading.reason:
        lines.append(f"  because: {reading.reason}")
    for item, why in reading.missing.items():
        lines.append(f"  no score for {view.ids[view.candidates[item].members[0]]}: {why}")
    return "\n".join(lines) + "\n"


def describe_result(result: GroupResult) -> str:
    """A group's ranking as plain text: best first, then those without a score, each with its explanation or reason."""
    ranked = sorted(result.trajectories, key=lambda one: (one.reward is None, -(one.reward or 0.0)))
    lines = [f"group {result.group_id}: {result.status}"]
    for place, one in enumerate(ranked, 1):
        reward = "    -" if one.reward is None else f"{one.reward:5.2f}"
        error = "" if one.stderr is None else f" ± {one.stderr:.2f}"
        lines.append(f"  {place if one.reward is not None else '-':>2}. {reward}{error}  {one.id}")
        text = one.explanation if one.reward is not None else f"{one.status}: {one.reason}"
        if text:
            lines.append(_block(text, indent=14))
    lines += [f"  note: {warning}" for warning in result.warnings]
    return "\n".join(lines) + "\n"


def _block(text: str, *, indent: int = 4) -> str:
    pad = " " * indent
    return "\n".join(
        textwrap.fill(line, _WIDTH, initial_indent=pad, subsequent_indent=pad) for line in text.splitlines() or [""]
    )
