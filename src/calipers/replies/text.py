"""Selects the part of a judge's reply that is its answer: its own turn, without reasoning, in a bounded size.

No function here knows what a verdict looks like. None raises because of a text, and each takes time linear in the
text's length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from calipers.errors import ConfigError
from calipers.replies.names import NOUN

TOLERANT_LIMIT: Final = 65_536
"""At most this many characters of a reply are read tolerantly, so that a hostile reply stays cheap to read."""
_MOST_READ: Final = 4 * TOLERANT_LIMIT
"""Marks of turns and of reasoning are searched for in this many characters at the end of a reply."""
LIMIT: Final = 1_048_576
"""Strict JSON of at most this length is read; of a longer reply only the end is kept."""

_REASONING = r"think|thinking|reasoning|thoughts?|reflection|analysis|scratchpad|seed:think"
_OPENS: Final = (
    rf"<(?:{_REASONING})(?:\s[^<>\n]{{0,80}})?>|\[(?:think|reasoning)\]|◁think▷|<\|begin_of_thought\|>"
    r"|<\|start_thinking\|>|<｜begin▁of▁thinking｜>|<\|channel>thought"
)
_CLOSES: Final = (
    rf"</(?:{_REASONING})>|\[/(?:think|reasoning)\]|◁/think▷|<\|end_of_thought\|>|<\|end_thinking\|>|<\|/think\|>"
    r"|<｜end▁of▁thinking｜>|<channel\|>"
)
_KEPT = r"(?:begin|end|start)_of_(?:box|solution)|(?:start|end)_response|constrain"
_ROLE = r"(?:assistant|user|human|system)"
_ENDS: Final = (
    rf"<[|｜](?!(?:{_KEPT})[|｜]>)[^<>\s]{{1,40}}[|｜]>|</?s>|<eos>|<turn\|>|<\|turn>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
    rf"|(?:^|(?<=[\]}}`.%\d]))[ \t]*{_ROLE}[ \t]*(?=\n|\Z)"
    rf"|^[ \t]*(?:\*\*)?(?:{_ROLE}|AI)(?:\*\*)?[ \t]*[:：]"
    rf"|^[ \t]*\#{{1,6}}[ \t]*(?:{_ROLE}|instructions?|input|question|task|response)[ \t]*(?:[:：]|$)"
)
_TAGS: Final = re.compile(f"(?P<opens>{_OPENS})|(?P<closes>{_CLOSES})|(?P<ends>{_ENDS})", re.IGNORECASE | re.MULTILINE)
"""Where reasoning begins, where it ends, and where the judge's turn ends: a special token or the next turn's header."""
_HEADER: Final = re.compile(
    r"\s*(?:(?:<\|(?:im_start|start|start_header_id)\|>|<start_of_turn>)\s*(?:assistant|model)\s*(?:<\|end_header_id\|>|\n)?"
    r"|<\|assistant\|>|\[/INST\]|\#+\s*(?:response|assistant)\s*[:：]?\s*\n|assistant\s*[:：\n])\s*",
    re.IGNORECASE,
)
"""The header of the judge's own turn, at the beginning of its reply."""
_FINAL: Final = re.compile(r"<\|channel\|>\s{0,8}final\b[^<>\n]{0,40}(?:<\|constrain\|>[^<>\n]{0,40})?<\|message\|>")
_BARE_HARMONY: Final = re.compile(r"\s*analysis(?=[A-Z])")
_DOCUMENT_START: Final = re.compile(r"[\[{](?=\s{0,64}[\"\[{])")
_DECODER: Final = json.JSONDecoder(strict=False)
_MOST_DOCUMENTS: Final = 32
_QUOTES: Final = frozenset("`'\"“”‘’")
_FENCE: Final = re.compile(r"(`{3,8}|~{3,8})[ \t]{0,8}[A-Za-z0-9_+-]{0,20}[ \t]{0,8}(?=[\s\[{(\"'])")


def reply_text(text: str | None) -> str:
    """Return the text of a reply, "" for None. Raises ConfigError for anything else, such as bytes."""
    if isinstance(text, str):
        return text
    if text is None:
        return ""
    raise ConfigError(f"text must be a reply's text, or None, and not {type(text).__name__}: decode bytes first")


def condense_reply(text: str) -> str:
    """Return a reply of at most 1 MB unchanged, and of a longer one the end, which is still too long to be complete."""
    kept = 2 * TOLERANT_LIMIT
    return text if len(text) <= LIMIT else f"… {len(text) - kept:,} characters left out …\n{text[-kept:]}"


def judges_turn(text: str) -> str | None:
    """Return the judge's own turn without its reasoning, or None if the reasoning never ends and there is no answer.

    Everything from the first end of a turn on is dropped: a model that runs past it invents turns. Of output in the
    harmony format, the first ``final`` channel counts. A mark is content if it is quoted or inside a JSON document.
    """
    text = text[-_MOST_READ:]
    if _BARE_HARMONY.match(text):  # the server stripped the special tokens
        _, mark, tail = text.partition("assistantfinal")
        return tail if mark else None
    header = _HEADER.match(text)
    text = text[header.end() :] if header else text
    channel = text.find("<|channel|>")
    if channel >= 0 and not any(begin < channel < stop for begin, stop in _documents(text)):
        final = _FINAL.search(text)
        if final is None:
            return None
        text = text[final.end() :]
    kept: list[str] = []
    at, reasons = 0, False
    for tag in _tags(text):
        start, end = tag.span()
        if tag["closes"]:
            if not reasons:  # the template of the prompt opened the reasoning
                kept.clear()
            at, reasons = end, False
        elif not reasons and tag["opens"]:
            kept.append(text[at:start])
            reasons = True
        elif not reasons:
            kept.append(text[at:start])
            at = end
            if any(map(str.strip, kept)):
                return "".join(kept)
    return None if reasons else "".join([*kept, text[at:]])


def _tags(text: str) -> Iterator[re.Match[str]]:
    """Yield the marks of reasoning and of turns that are not quoted and not inside a JSON document."""
    spans: list[tuple[int, int]] | None = None
    for tag in _TAGS.finditer(text):
        start, end = tag.span()
        if start and text[start - 1] in _QUOTES and text[end : end + 1] in _QUOTES and end < len(text):
            continue
        if spans is None:
            spans = _documents(text)
        if not any(begin < start < stop for begin, stop in spans):
            yield tag


def _documents(text: str) -> list[tuple[int, int]]:
    """Return the spans of strict JSON documents in a reply, outermost first. The number of attempts is bounded."""
    spans = []
    at, tries = 0, 0
    while tries < _MOST_DOCUMENTS and (start := _DOCUMENT_START.search(text, at)):
        tries += 1
        at = start.start() + 1
        try:
            _, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):  # not JSON, or nested too deep to be a verdict
            continue
        spans.append((start.start(), end))
        at = end
    return spans


def strip_fence(text: str) -> str:
    """Remove surrounding white space and one Markdown fence around the whole reply."""
    text = text.strip()
    fence = _FENCE.match(text) if text[:3] in ("```", "~~~") else None
    if fence is None:
        return text
    body = text[fence.end() :].removesuffix(fence[1]).strip()
    return text if fence[1] in body else body


# --- words around a verdict -------------------------------------------------------------------------------------------

_FRAME: Final = re.compile(
    r"(?:`{3,8}|~{3,8})[A-Za-z0-9_+-]{0,20}|</?(?:(?:final_)?answer|output|result|response|json|verdict|evaluation|scores"
    rf"|tool_call)>|<\|(?:{_KEPT})\|>",
    re.IGNORECASE,
)
"""Fences and tags that may stand around a whole verdict."""
_RULE: Final = re.compile(r"[\s`*_~#|=-]*(?:json\s*)?")
_INTRODUCTION: Final = re.compile(
    r"\W{0,6}(?:here\s(?:is|are)\s)?(?:(?:the|my|your|final|overall|evaluation)\s){0,3}"
    r"(?:answer|(?:scores?|verdicts?|evaluations?|ratings?|results?|json)"
    rf"(?:\s(?:for|of)\s(?:the|each|all|these)\s{NOUN}s?)?(?:\sare)?)"
    r"\W{0,4}[:：]\W{0,4}",
    re.IGNORECASE,
)
"""A line that does nothing but name the verdict below it. Any other word may void it: ``Not the scores:``."""


def is_text_before(text: str) -> bool:
    """Whether text before a verdict says anything. One introducing line does not."""
    lines = _lines_before(text)
    return bool(lines) and not (len(lines) == 1 and is_introduction(lines[0]))


def is_headed(text: str) -> bool:
    """Whether the last line before values does more than name the verdict: ``Error scores:``, ``"answers": {``."""
    lines = _lines_before(text)
    return bool(lines) and lines[-1].rstrip("\"'*_` ")[-1:] in (":", "：") and not is_introduction(lines[-1])


def _lines_before(text: str) -> list[str]:
    lines = _FRAME.sub("\n", text).split("\n")
    return [line for line in lines if not _RULE.fullmatch(line) and line.strip() != "json"]


def is_introduction(line: str) -> bool:
    """Whether a line can only introduce a verdict: ``Here is my evaluation:``."""
    return _INTRODUCTION.fullmatch(line) is not None


def is_text_after(text: str) -> bool:
    """Whether text after a verdict says anything. Fences, closing tags and brackets do not."""
    opens = re.search(r"(?:`{3}|~{3})[^\S\n]*[^\s`~]", text)  # another block begins
    return opens is not None or _RULE.fullmatch(_FRAME.sub("", text).strip(" \t\r\n)]};")) is None
