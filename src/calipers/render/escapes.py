r"""Makes invisible characters, chat-template tokens and look-alike layout lines visible: ``\u{3c}|im_start|>``.

All other characters stay unchanged, and ``unescape`` is the inverse of ``escape``. The transcript's structure does not
depend on escapes but on the marker, which never occurs in content. Lines that merely look like layout lines are escaped
so that no careless reader takes them for layout. Escaped text contains no control character except newline, tab and the
carriage return of a CR LF pair, so the transcript may use other control characters as placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from calipers.types.steps import Steps, at_once

_PIECE: Final = 2**14
_AHEAD: Final = 2**9
"""Texts are escaped in pieces of ``_PIECE`` characters. What a piece looks at beyond its end is within ``_AHEAD``."""
_PLAIN: Final = bytes(code for code in (9, 10, *range(0x20, 0x7F)) if code not in b"<[\\~@")
"""ASCII characters that never need an escape."""

# Control characters, invisible and direction-changing characters, noncharacters and lone surrogates. Variation
# selectors 15 and 16 (emoji style) stay.
_INVISIBLE: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ufdd0-\ufdef"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
    + "".join(chr(plane + tail) for plane in range(0x10000, 0x110000, 0x10000) for tail in (0xFFFE, 0xFFFF))
)
# Most texts consist of these characters, which never need an escape: searching for any other is fast.
_USUAL: Final = (
    "\n\t -;=?A-Z>\\]^_`a-z{|}\u00a0-\u00ac\u00ae-\u034e\u0370-\u05ff\u0620-\u06dc\u0900-\u10ff\u1e00-\u1fff"
    "\u2010-\u2027\u202f-\u2038\u203a-\u205f\u2070-\u27e7\u27e9-\u2fff\u3000-\u3007\u3009-\u3163"
    "\u3165-\u9fff\uac00-\ud7a3\ufe0e\ufe0f\uff00-\uff1b\uff1d-\uff1f\uff21-\uff9f\U0001f000-\U0001faff\U00020000-\U0002fffd"
)
# Tokens that mark turns, tools and thinking in chat templates and agent programs, the same with look-alike brackets and
# bars (no tokenizer reads these as tokens, but a model might), and lines that look like the transcript's layout lines,
# with any marker. Their first character is escaped if the rest follows.
_TOKENS: Final = {
    "<": (
        r"[|｜]|[∣¦│ǀ❘] ?/?[A-Za-z_]"
        r"|/?(?:s|bos|eos|pad|unk|sop|eop|mask|image|think|thinking|tool_call|tool_calls|tool_response|function_calls"
        r"|(?:tool|function)_(?:results?|outputs?|responses?)|function_call|system|system-reminder"
        r"|(?:BOS|EOS|PAD|UNK)_TOKEN"
        r"|(?:start|end)_of_(?:turn|image|audio)|fim_(?:prefix|middle|suffix))>"
        r"|</?SYS>>|[a-z_]{1,32}\|>|(?:unused|extra_id_|reserved_)\w{0,24}>|(?:minimax|antml):"
        r"|/?(?:invoke|parameter)(?:>| name=)"
    ),
    "＜﹤‹〈⟨": r"[|｜∣¦│ǀ❘] ?/?[A-Za-z_]",
    "[": (
        r"/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|ARGS|CALL_ID"
        r"|MODEL_SETTINGS|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO|PREFIX|MIDDLE|SUFFIX|gMASK)\]"
    ),
    "@＠﹫": (
        r"(?<!\S[@＠﹫])\w{1,24}[^\S\n]+(?:candidate|end|user|assistant|system|developer|call|result|error"
        r"|exhibit|context|tools|reasoning|refusal|marks[^\S\n]+layout)\b"
    ),
    "\\": r"u\{",
    "~": r"(?<=\]~)!?b[\[\]]",
}
_ASCII_TOKENS: Final = {
    chars[0]: re.compile(f"{re.escape(chars[0])}(?={rest})") for chars, rest in _TOKENS.items() if chars[0].isascii()
}
_UNUSUAL = re.compile(f"[^{_USUAL}]")
# Joiners stay where scripts and emoji need them: after an Arabic or Indic letter, and after an emoji.
_UNSAFE = re.compile(
    f"[^{_USUAL}](?:(?<=[{_INVISIBLE}])[{_INVISIBLE}]*|(?<=\r)(?!\n)"
    + "".join(f"|(?<=[{re.escape(chars)}])(?={rest})" for chars, rest in _TOKENS.items())
    + "|(?<=\u200c)(?<![\u0600-\u06ff\u0900-\u0dff]\u200c)"
    "|(?<=\u200d)(?<![\u0600-\u06ff\u0900-\u0dff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]\u200d))"
)
_ESCAPED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def escape_all_in_steps(texts: Sequence[str]) -> Steps[Sequence[str]]:
    """Escape the dangerous characters of a transcript's texts. One search finds that most transcripts have none."""
    if sum(map(len, texts)) <= 8 * _PIECE:
        whole = "\n".join(texts)
        # A carriage return at the end of a text would be taken for half of a CR LF pair.
        if "\r" not in whole and _is_clean(whole):
            return texts
    escaped = list(texts)
    for place, text in enumerate(texts):
        escaped[place] = yield from escape_in_steps(text)
    return escaped


def escape_in_steps(text: str) -> Steps[str]:
    r"""Escape the dangerous characters of a text as ``\u{hex}``. Return the same object if there are none."""
    pieces: list[str] = []
    last = 0
    for begin in range(0, len(text), _PIECE):
        if begin:
            yield
        end = begin + _PIECE
        escaped: list[str] = []
        is_clean = _is_clean(text[max(0, begin - 2) : end + _AHEAD])
        for match in () if is_clean else _UNSAFE.finditer(text, max(begin, last), end + _AHEAD):
            if match.start() >= end:
                break
            escaped += text[last : match.start()], *[f"\\u{{{ord(char):x}}}" for char in match[0]]
            last = match.end()
        pieces.append("".join((*escaped, text[last:end])))
        last = max(last, end)
    return "".join(pieces)


escape = at_once(escape_in_steps)


def unescape(text: str) -> str:
    """Return the original of a transcript's text that ``escape`` returned."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "\\u{" in text else text


def _is_clean(text: str) -> bool:
    """Return whether ``text`` needs no escape. Most texts have brackets, but no other characters that may need one."""
    odd = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    others = odd.translate(None, b"<[\\~@")
    # To look at each character only once is faster where few are beyond ASCII.
    if 8 * len(others) > len(text) or _UNUSUAL.search("".join(set(others.decode("utf-8", "surrogatepass")))):
        return _UNSAFE.search(text) is None
    return not odd or not any(char in text and pattern.search(text) for char, pattern in _ASCII_TOKENS.items())
