"""Split text into sentences at every period, question and exclamation mark, as IFEvalG's own rules do.

A period is kept together with a title, a company's suffix, an initial, an acronym, the end of an address or a number.
This splits less well than Punkt (``sentences``), but what IFEvalG asks for is defined by it.
"""

from __future__ import annotations

import re
from typing import Final

_KEPT: Final = "<prd>"
"""Stands for a period that ends no sentence, until all marks have been looked at. It is the official mark: a response
that contains it is split as it is there.
"""
_END: Final = "<stop>"
"""Stands behind the end of a sentence; the official mark, too."""
_OPENERS: Final = (
    r"(Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|He\s|She\s|It\s|They\s|Their\s|Our\s|We\s|But\s|However\s|That\s|This\s|Wherever)"
)
_SUFFIXES: Final = "(Inc|Ltd|Jr|Sr|Co)"
_STEPS: Final = tuple(
    (re.compile(pattern), by.replace("~", _KEPT).replace("|", _END))
    for pattern, by in (
        (r"(Mr|St|Mrs|Ms|Dr)\.", r"\1~"),
        (r"\.(com|net|org|io|gov|edu|me)", r"~\1"),
        (r"([0-9])\.([0-9])", r"\1~\2"),
    )
)
_AFTER_DOTS: Final = tuple(
    (re.compile(pattern), by.replace("~", _KEPT).replace("|", _END))
    for pattern, by in (
        (r"Ph\.D\.", "Ph~D~"),
        (r"\s([A-Za-z])\. ", r" \1~ "),
        (rf"([A-Z]\.[A-Z]\.(?:[A-Z]\.)?) {_OPENERS}", r"\1| \2"),
        (r"([A-Za-z])\.([A-Za-z])\.([A-Za-z])\.", r"\1~\2~\3~"),
        (r"([A-Za-z])\.([A-Za-z])\.", r"\1~\2~"),
        (rf" {_SUFFIXES}\. {_OPENERS}", r" \1| \2"),
        (rf" {_SUFFIXES}\.", r" \1~"),
        (r" ([A-Za-z])\.", r" \1~"),
    )
)
_DOTS: Final = re.compile(r"\.{2,}")
_INSIDE_QUOTES: Final = ((".”", "”."), ('."', '".'), ('!"', '"!'), ('?"', '"?'))


def split_at_periods(text: str) -> list[str]:
    """Return the sentences of ``text`` for IFEvalG, each with its last mark and without blanks around it."""
    text = f" {text}  ".replace("\n", " ")
    for pattern, by in _STEPS:
        text = pattern.sub(by, text)
    text = _DOTS.sub(lambda dots: _KEPT * len(dots[0]) + _END, text)
    for pattern, by in _AFTER_DOTS:
        text = pattern.sub(by, text)
    for inside, outside in _INSIDE_QUOTES:
        text = text.replace(inside, outside)
    for mark in ".?!":
        text = text.replace(mark, mark + _END)
    sentences = [sentence.strip() for sentence in text.replace(_KEPT, ".").split(_END)]
    return sentences if sentences[-1] else sentences[:-1]
