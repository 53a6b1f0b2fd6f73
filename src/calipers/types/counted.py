"""Numbers of things in messages: "1 answer", "1,234 answers"."""

from __future__ import annotations


def counted(number: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun, for people; ``plural`` is for nouns that take more than an s."""
    return f"{number:,.0f} {noun if number == 1 else plural or f'{noun}s'}"
