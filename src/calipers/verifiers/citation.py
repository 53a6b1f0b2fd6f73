"""Quotations: each quotation of the final answer must occur, word for word, in what the trajectory was given."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.types import Trajectory, Verdict
from calipers.verifiers.answer import NO_ANSWER, final_answer, text_of

_QUOTES = re.compile(r'"([^"\n]{1,5000})"|“([^”\n]{1,5000})”|«([^»\n]{1,5000})»|<quote>([^<]{1,5000})</quote>')
_PLAIN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})
_END = " \t\n.,;:!?…"


@dataclass(frozen=True, slots=True)
class Citation:
    """Every quotation in the final answer occurs in a message before it: the question, a tool's result, a document.

    Quotations are in "straight", “curly” or «angle» marks or in ``<quote>`` tags, and count from ``min_words`` words
    on. The words are compared: line breaks, kinds of quotation marks and dashes, and a full stop at the end are
    ignored; " ... " and "[...]" separate pieces that must follow one another. There must be ``at_least`` quotations.
    """

    at_least: int = 1
    min_words: int = 3

    def __post_init__(self) -> None:
        if self.at_least < 0 or self.min_words < 1:
            raise ConfigError("citation: at_least must be 0 or more and min_words 1 or more")

    def __call__(self, trajectory: Trajectory) -> Verdict:
        answer = final_answer(trajectory)
        if answer is None:
            return Verdict(None, NO_ANSWER)
        quotations = [next(filter(None, found)) for found in _QUOTES.findall(answer)]
        quotations = [one for one in quotations if len(one.split()) >= self.min_words]
        if len(quotations) < self.at_least:
            return Verdict(
                False, f"{len(quotations)} quotations of {self.min_words} words or more; required: {self.at_least}"
            )
        sources = [_plain(text) for text in _given(trajectory)]
        for quotation in quotations:
            pieces = [_plain(piece) for piece in re.split(r"\[?(?:\.\.\.|…)\]?", quotation) if _plain(piece)]
            if not any(_occurs_in(source, pieces) for source in sources):
                return Verdict(False, f"not in the sources: {quotation[:100]!r}")
        return Verdict(True, f"{len(quotations)} quotations found")


def _given(trajectory: Trajectory) -> list[str]:
    """The texts of all messages that the model did not write itself."""
    texts = [text_of(message) for message in trajectory.messages if message.get("role") != "assistant"]
    return [text for text in texts if text]


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).translate(_PLAIN).split()).strip(_END)


def _occurs_in(source: str, pieces: list[str]) -> bool:
    at = 0
    for piece in pieces:
        at = source.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True
