"""Writes a group of trajectories as a transcript for the judge, which can be decoded again.

``render`` makes the transcript of a group, ``compose`` the part of a question that shows it, and ``decode`` reads a
question back. Text stays unchanged (UTF-8, line breaks included), except that invisible characters, chat-template
tokens and text that looks like layout are escaped. ``protocols`` write the instructions, and choose the keys and the
order of the candidates.
"""

from calipers.render.canonical import Reasoning
from calipers.render.decode import Decoded, decode
from calipers.render.elision import omission_lines, shorten_group
from calipers.render.fitting import (
    BYTES_PER_TOKEN,
    Fitted,
    Unfit,
    fit_question,
    plausible_bytes_per_token,
    text_bytes_and_images,
    window_from_refusal,
)
from calipers.render.group import compose, count_characters, join_texts, render, render_in_steps
from calipers.render.transcript import Transcriber

__all__ = [
    "BYTES_PER_TOKEN",
    "Decoded",
    "Fitted",
    "Reasoning",
    "Transcriber",
    "Unfit",
    "compose",
    "count_characters",
    "decode",
    "fit_question",
    "join_texts",
    "omission_lines",
    "plausible_bytes_per_token",
    "render",
    "render_in_steps",
    "shorten_group",
    "text_bytes_and_images",
    "window_from_refusal",
]
