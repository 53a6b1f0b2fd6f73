"""The default rubric, for groups without a rubric."""

from __future__ import annotations

DEFAULT_RUBRIC = """\
- Did the attempt reach what the task asks for? Judge the state it left behind, not the story it tells about it. \
An attempt that gets there beats every attempt that does not.
- Nearer is better: among attempts that fall short, prefer the one that got further in the right direction.
- Among attempts that get there, prefer the one that took fewer detours, repeated calls and needless questions.
- Breaking a rule stated in the task, inventing facts, or reporting success that did not happen weighs more than \
slowness or style.
- Length, formatting and confident tone are not merits of their own."""
"""Modelled on RULER's general rubric for agents: outcome, partial progress, efficiency, honesty."""
