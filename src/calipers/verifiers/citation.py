"""The ``citation`` verifier: each quotation in the final answer must occur in the trajectory's sources."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.types import Trajectory, Verdict
from calipers.verifiers.answer import NO_ANSWER, final_answer, message_text

_QUOTES = re.compile(r'"([^"\n]{1,5000})"|“([^”\n]{1,5000})”|«([^»\n]{1,5000})»|<quote>([^<]{1,5000})</quote>')
_PLAIN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})
_END = " \t\n.,;:!?…"


@dataclass(frozen=True, slots=True)
class Citation:
    """Met if every quotation in the final answer occurs in the question, a tool's result or another source message.

    Quotations are set in "straight", “curly” or «angle» marks or in ``<quote>`` tags. Quotations of fewer than
    ``min_words`` words are ignored, and at least ``at_least`` longer ones are required. Line breaks, kinds of quotation
    marks and dashes, and a full stop at the end make no difference. " ... " and "[...]" separate pieces of a quotation,
    which must occur in the same order.
    """

    at_least: int = 1
    min_words: int = 3

    def __post_init__(self) -> None:
        if self.at_least < 0 or self.min_words < 1:
            raise ConfigError(
                f"citation: at_least={self.at_least!r} must be 0 or more, and min_words={self.min_words!r} 1 or more"
            )

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
        sources = [_plain(text) for text in _source_texts(trajectory)]
        for quotation in quotations:
            pieces = [_plain(piece) for piece in re.split(r"\[?(?:\.\.\.|…)\]?", quotation) if _plain(piece)]
            if not any(_occurs_in(source, pieces) for source in sources):
                return Verdict(False, f"not in the sources: {quotation[:100]!r}")
        return Verdict(True, f"{len(quotations)} quotations found")


def _source_texts(trajectory: Trajectory) -> list[str]:
    """Return the source texts of a trajectory: the texts of all messages that the model did not write."""
    texts = [message_text(message) for message in trajectory.messages if message.get("role") != "assistant"]
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
