"""The task as text: what judges read, and the truth of what they read.

Not responsible for tokens' meaning (``task``). Pure, and without PyTorch.
"""

from __future__ import annotations

from typing import Final

from calipers.study.training.task import END, PAD, TEXTS, Tokens

RUBRIC: Final = """\
The task names a difficulty and five digits, and asks for one of them: the first to the fifth as written, the largest \
or the smallest. An attempt is right if the digit after its last "The answer is" is the digit asked for. A right \
attempt is better than a wrong one. Nothing else counts: not length, confidence, politeness or headings."""
"""The standards for a judge that reads the task, unless its options name others."""


def text_of(tokens: Tokens) -> str:
    """Return a prompt or response of the task as text; ``tokens`` is one row."""
    words = []
    for token in tokens.tolist():
        if token == END:
            break
        if token != PAD:
            words.append(TEXTS[token])
    return " ".join(word for word in words if word)


def texts_of(rows: Tokens) -> list[str]:
    """Return prompts or responses of the task as texts, one for each row."""
    return [text_of(row) for row in rows]
