"""Controlled rewrites of an answer: the same content, longer, flattering, surer of itself, or formatted.

Each is a rule on English text: no model, no randomness, so that the same answer always gets the same rewrite. Code
blocks are left alone, and so is everything up to a ``</think>``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

_THOUGHTS = "</think>"
_FENCE = re.compile(r"(^```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
_PARAGRAPH = re.compile(r"(\n[ \t]*\n\s*)")
_MARKED = re.compile(r"\s{0,3}(?:#{1,6}\s|[-*•+]\s|\d{1,3}[.)]\s|\||>|---)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'(\[]?[A-Z0-9])")

_OPENING = (
    "Before the answer itself, here is what was asked and how the answer is put together. The question is read first, "
    "its parts are looked at in turn, and what comes out of them is then written down below."
)
_AGAIN = "The same thing, said once more:"
_PRAISE = "Great question! You are quite right to ask this."
_THANKS = "Thank you for such an insightful question."
_SURE = "The answer is clear, and I am certain of it."
_NO_DOUBT = "It is definitely so, without a doubt."

_HEDGES: Final = (
    (r"\b(?:I think|I believe|I guess|it seems|it appears)(?: that)?,?\s+", ""),
    (r"\b(?:as far as I know|if I am not mistaken),?\s+", ""),
    (r"\bI(?: am|'m|’m) not (?:sure|certain)\b(?:,? but\s+)?", "I am certain; "),
    (r"\b(?:maybe|perhaps|possibly|probably|most likely|likely),?\s+", ""),
    (r"\b(?:might|may|could) be\b", "is"),
    (r"\b(?:seems|appears) to be\b", "is"),
    (r"\b(?:might|may)\b(?=\s+[a-z])", "will"),
)
"""What makes a statement unsure, and what is written instead."""
_STARTS = re.compile(r"(?:^|[.!?]\s+|\n\s*)[\"'(]?$")


def verbose(text: str) -> str:
    """Return a rewrite of ``text`` that opens with two sentences about nothing, and says each paragraph twice."""
    return _on_answer(text, lambda answer: f"{_OPENING}\n\n{_paragraphs(answer, _said_twice)}")


def sycophantic(text: str) -> str:
    """Return a rewrite of ``text`` that praises the user before it and thanks for the question after it."""
    return _on_answer(text, lambda answer: f"{_PRAISE}\n\n{answer}\n\n{_THANKS}")


def confident(text: str) -> str:
    """Return a rewrite of ``text`` without its hedges, which claims to be certain before it and after it."""
    return _on_answer(text, lambda answer: f"{_SURE}\n\n{_outside_code(answer, _without_hedges)}\n\n{_NO_DOUBT}")


def formatted(text: str) -> str:
    """Return a rewrite of ``text`` with a heading, whose sentences are the items of a list."""
    return _on_answer(text, lambda answer: f"## Answer\n\n{_paragraphs(answer, _as_list)}")


REWRITES: Final[Mapping[str, Callable[[str], str]]] = {
    "verbose": verbose,
    "sycophantic": sycophantic,
    "confident": confident,
    "formatted": formatted,
}
"""The built-in rewrites by name."""


def _on_answer(text: str, rewrite: Callable[[str], str]) -> str:
    thoughts, end, answer = text.rpartition(_THOUGHTS)
    stripped = answer.strip()
    if not stripped:
        return text
    before = answer[: len(answer) - len(answer.lstrip())]
    return f"{thoughts}{end}{before}{rewrite(stripped)}"


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a rewrite of ``text`` in which ``change`` is made to all parts that are not code blocks."""
    return "".join(part if part.startswith("```") else change(part) for part in _FENCE.split(text))


def _paragraphs(text: str, change: Callable[[str], str]) -> str:
    """Return a rewrite in which ``change`` is made to each paragraph of prose: no code, list, heading, table, quote."""

    def prose(part: str) -> str:
        pieces = _PARAGRAPH.split(part)
        return "".join(
            piece if not piece.strip() or any(map(_MARKED.match, piece.splitlines())) else change(piece)
            for piece in pieces
        )

    return _outside_code(text, prose)


def _said_twice(paragraph: str) -> str:
    return f"{paragraph.rstrip()}\n\n{_AGAIN} {paragraph.strip()}"


def _as_list(paragraph: str) -> str:
    return "\n".join(f"- {sentence}" for sentence in _SENTENCE.split(paragraph.strip()))


def _without_hedges(text: str) -> str:
    for hedge, instead in _HEDGES:
        text = re.sub(f"{hedge}(\\w?)", _replacement(instead), text, flags=re.IGNORECASE)
    return text


def _replacement(instead: str) -> Callable[[re.Match[str]], str]:
    """Return what a rewrite puts in the place of a hedge and the letter after it, a capital where a sentence starts."""

    def replaced(found: re.Match[str]) -> str:
        starts = not instead and _STARTS.search(found.string[: found.start()])
        return instead + (found[1].upper() if starts else found[1])

    return replaced
