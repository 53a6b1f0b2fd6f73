"""Writes a group of trajectories as a transcript for the judge.

``render`` makes the transcript of a group, and ``compose`` the part of a question that shows it. Text stays unchanged
(UTF-8, line breaks included), except that invisible characters, chat-template tokens and text that looks like layout
are escaped. ``protocols`` write the instructions, and choose the keys and the order of the candidates.
"""

from calipers.render.canonical import Reasoning
from calipers.render.fitting import (
    BYTES_PER_TOKEN,
    Fitted,
    Unfit,
    fit_question,
    omission_lines,
    text_bytes_and_images,
    window_from_refusal,
)
from calipers.render.group import compose, join_texts, render, render_in_steps

__all__ = [
    "BYTES_PER_TOKEN", "Fitted", "Reasoning", "Unfit", "compose", "fit_question",
    "join_texts", "omission_lines", "render", "render_in_steps", "text_bytes_and_images",
    "window_from_refusal",
]  # fmt: skip
