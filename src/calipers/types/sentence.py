"""Joins texts of several origins into messages for people: what comes before another sentence ends as one. Pure."""

from __future__ import annotations

_ENDS = (".", "!", "?", ":")


def as_sentence(text: str) -> str:
    """Return ``text`` with a full stop, unless a sentence ends there already."""
    return text if not text or text.endswith(_ENDS) else f"{text}."


def with_remark(text: str, remark: str) -> str:
    """Return ``text`` with ``(remark)`` before its full stop, if it has one, and after everything else."""
    return f"{text[:-1]} ({remark})." if text.endswith(".") else f"{text} ({remark})"
