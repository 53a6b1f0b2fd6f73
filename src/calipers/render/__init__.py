"""A group as a reversible transcript: ``render`` it, ``compose`` a question, ``decode`` it back.

Content stays as it is (UTF-8, line breaks included); only invisible characters, chat-template tokens and look-alike
layout are escaped. Not responsible for asking: instructions, keys and orders belong to ``protocols``.
"""

from calipers.render.canonical import Reasoning
from calipers.render.decode import Decoded, decode
from calipers.render.elision import omissions, shorten
from calipers.render.fitting import (
    BYTES_PER_TOKEN,
    Fitted,
    Unfit,
    fitted,
    plausible_density,
    text_and_images,
    window_from_refusal,
)
from calipers.render.group import characters, compose, merged, render
from calipers.render.transcript import Transcriber

__all__ = [
    "BYTES_PER_TOKEN",
    "Decoded",
    "Fitted",
    "Reasoning",
    "Transcriber",
    "Unfit",
    "characters",
    "compose",
    "decode",
    "fitted",
    "merged",
    "omissions",
    "plausible_density",
    "render",
    "shorten",
    "text_and_images",
    "window_from_refusal",
]
