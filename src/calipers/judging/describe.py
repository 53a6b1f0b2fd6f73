"""Text for people: a judge's answer (for ``debug``), and a ranked group."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import Final

from calipers.types import Completion, GroupResult, JudgeRequest, Reading
from calipers.types.encoding import printable

_WIDTH: Final = 110


def terminal_width() -> int | None:
    """Return the columns of stderr's terminal, for text such as answers printed while judging; None for no terminal."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or None
    except (AttributeError, OSError, ValueError):  # no file descriptor, or one that is no terminal
        return None


def print_answer(request: JudgeRequest, completion: Completion, reading: Reading) -> None:
    """Print an answer received while judging (``debug``) to stderr, with ids in place of opaque candidate keys."""
    width = terminal_width()
    ask, view = request.ask, request.view
    shown = [view.ids[members[0]] if (members := view.candidates[item].members) else "(canary)" for item in ask.order]
    names = ", ".join(f"{key}={trajectory}" for key, trajectory in zip(request.keys, shown, strict=True))
    lines = [f"[calipers] group {view.group_id}, question {ask.number} ({ask.cause}), shown as {names}"]
    if completion.reasoning:
        lines += ["  the judge's reasoning:", _block(completion.reasoning, width=width)]
    lines += ["  the judge's reply:", _block(completion.text or "(empty)", width=width)]
    lines.append(f"  read as: {reading.outcome}")
    if reading.reason:
        lines.append(f"  because: {reading.reason}")
    for item, why in reading.missing.items():
        lines.append(f"  no score for {view.ids[view.candidates[item].members[0]]}: {why}")
    sys.stderr.write(printable("\n".join(lines)) + "\n")


def describe_result(result: GroupResult, *, width: int | None = None) -> str:
    """Describe the result of judging a group as plain text: best first, then trajectories without a score and why.

    Explanations are wrapped at ``width`` columns, or at 110 if ``width`` is None or larger.
    """
    ranked = sorted(
        result.trajectories, key=lambda trajectory: (trajectory.reward is None, -(trajectory.reward or 0.0))
    )
    lines = [f"group {result.group_id}: {result.status}"]
    for place, result_row in enumerate(ranked, 1):
        reward = "    -" if result_row.reward is None else f"{result_row.reward:5.2f}"
        error = "" if result_row.stderr is None else f" ± {result_row.stderr:.2f}"
        lines.append(f"  {place if result_row.reward is not None else '-':>2}. {reward}{error}  {result_row.id}")
        text = result_row.explanation if result_row.reward is not None else f"{result_row.status}: {result_row.reason}"
        if text:
            lines.append(_block(text, indent=14, width=width))
    lines += [f"  note: {warning}" for warning in result.warnings]
    return printable("\n".join(lines)) + "\n"


def _block(text: str, *, indent: int = 4, width: int | None) -> str:
    pad = " " * indent
    wide = max(min(width or _WIDTH, _WIDTH), indent + 20)
    return "\n".join(
        textwrap.fill(line, wide, initial_indent=pad, subsequent_indent=pad) for line in text.splitlines() or [""]
    )
