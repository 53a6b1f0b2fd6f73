r"""Makes invisible characters, chat-template tokens and look-alike layout lines visible: ``\u{3c}|im_start|>``.

All other characters stay unchanged, and ``unescape`` is the inverse of ``escape``. The transcript's structure does not
depend on escapes but on the marker, which never occurs in content. Lines that merely look like layout lines are escaped
so that no careless reader takes them for layout. Escaped text contains no control character except newline, tab and the
carriage return of a CR LF pair, so the transcript may use other control characters as placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Plain ASCII characters that never need an escape. The characters left after deleting them decide which searches a text
# needs.
_PLAIN = bytes(code for code in (9, 10, *range(0x20, 0x7F)) if code not in b"<[\\~@")
_ASCII = bytes(range(128))
_NO_CONTROLS = b"<[\\~@" + bytes(range(128, 256))
"""Bytes of UTF-8 text that are neither plain nor control characters."""

# Control characters, invisible and direction-changing characters, noncharacters and lone surrogates. Variation
# selectors 15 and 16 (emoji style) stay. Joiners stay where scripts and emoji need them: after an Arabic or Indic
# letter, and after an emoji.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ufdd0-\ufdef"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
    + "".join(chr(plane + tail) for plane in range(0x10000, 0x110000, 0x10000) for tail in (0xFFFE, 0xFFFF))
    + "]+|\r(?!\n)"
    "|(?<![\u0600-\u06ff\u0900-\u0dff])\u200c"
    "|(?<![\u0600-\u06ff\u0900-\u0dff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d"
)

# Its search of megabytes takes seconds, in which no other thread runs, so it gets pieces. What it looks at beside a
# character is only the next or the last one, and a piece begins with a character that it never escapes.
_PIECE = re.compile("(?s).{1,65536}[^ -~]*")

# Characters outside this set may need an escape. Most texts have none, and searching for one set is ten times faster.
_UNUSUAL = re.compile(
    "[^\n\t -~\u00a0-\u00ac\u00ae-\u034e\u0370-\u05ff\u0620-\u06dc\u0900-\u10ff\u1e00-\u1fff\u2010-\u2027\u202f-\u205f"
    "\u2070-\u2fff\u3000-\u3163\u3165-\u9fff\uac00-\ud7a3\ufe0e\ufe0f\uff00-\uff9f\U0001f000-\U0001faff"
    "\U00020000-\U0002fffd]"
)

# Tokens that mark turns, tools and thinking in chat templates and agent programs. One character of each is escaped.
_ANGLE = re.compile(
    r"<(?=[|｜]"
    r"|/?(?:s|bos|eos|pad|unk|sop|eop|mask|image|think|thinking|tool_call|tool_calls|tool_response|function_calls"
    r"|(?:tool|function)_(?:results?|outputs?|responses?)|function_call|system|system-reminder"
    r"|(?:BOS|EOS|PAD|UNK)_TOKEN"
    r"|(?:start|end)_of_(?:turn|image|audio)|fim_(?:prefix|middle|suffix))>"
    r"|</?SYS>>|[a-z_]{1,32}\|>|(?:unused|extra_id_|reserved_)\w{0,24}>|(?:minimax|antml):"
    r"|/?(?:invoke|parameter)(?:>| name=))"
)
# The same tokens with look-alike brackets and bars: no tokenizer reads these as tokens, but a model might.
_LOOK_ALIKE = re.compile(r"[＜﹤‹〈⟨](?=[|｜∣¦│ǀ❘] ?/?[A-Za-z_])|<(?=[∣¦│ǀ❘] ?/?[A-Za-z_])")
_LOOK_ALIKE_CHARACTERS = frozenset("＜﹤‹〈⟨∣¦│ǀ❘")
"""Every text that ``_LOOK_ALIKE`` matches contains at least one of these characters."""
_AT_SIGNS = frozenset("＠﹫")
# Lines that look like the transcript's layout lines, with any marker.
_FENCE = re.compile(
    r"[@＠﹫](?<![^\s][@＠﹫])(?=\w{1,24}[^\S\n]+(?:candidate|end|user|assistant|system|developer|call|result|error"
    r"|exhibit|context|tools|reasoning|refusal|marks[^\S\n]+layout)\b)"
)
_ASCII_FENCE = re.compile(_FENCE.pattern.replace("[@＠﹫]", "@", 1))
"""The same with "@" alone: a pattern that begins with one character is found ten times faster."""
_BRACKET = re.compile(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|ARGS|CALL_ID"
    r"|MODEL_SETTINGS|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO|PREFIX|MIDDLE|SUFFIX|gMASK)\])"
)
_OTHER = re.compile(r"\\(?=u\{)|(?<=\])~(?=!?b[\[\]])")
_ESCAPED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def escape_all(texts: Sequence[str]) -> Sequence[str]:
    """Escape the dangerous characters of a transcript's texts. One search finds that most transcripts have none."""
    whole = "\n".join(texts)
    odd = _odd_bytes(whole)
    # A carriage return at the end of a text would be taken for half of a CR LF pair.
    if not odd or ("\r" not in whole and _is_clean(whole, odd)):
        return texts
    return [escape(text) for text in texts]


def escape(text: str) -> str:
    r"""Escape the dangerous characters of a transcript's text as ``\u{hex}``. Return the same object if
    there are none.
    """
    odd = _odd_bytes(text)
    if not odd or _is_clean(text, odd):
        return text
    text = "".join([_INVISIBLE.sub(_escaped, piece) for piece in _PIECE.findall(_OTHER.sub(_escaped, text))])
    for pattern in (_ANGLE, _BRACKET, _LOOK_ALIKE, _FENCE):
        text = pattern.sub(_escaped, text)
    return text


def unescape(text: str) -> str:
    """Return the original of a transcript's text that ``escape`` returned."""
    return _ESCAPED.sub(_unescaped, text) if "\\u{" in text else text


def _odd_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)


def _is_clean(text: str, odd: bytes) -> bool:
    """Return whether ``text`` needs no escape. ``odd``: the bytes of ``text`` in UTF-8 that are not plain.

    A pattern is searched for only if the text has a character that the pattern needs. Most texts have brackets but no
    others.
    """
    if odd.translate(None, _NO_CONTROLS) and _INVISIBLE.search(text):
        return False
    if not text.isascii():
        foreign = set(odd.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
        if _UNUSUAL.search("".join(foreign)) and _INVISIBLE.search(text):
            return False
        if not foreign.isdisjoint(_LOOK_ALIKE_CHARACTERS) and _LOOK_ALIKE.search(text):
            return False
        if not foreign.isdisjoint(_AT_SIGNS) and _FENCE.search(text):
            return False
    return not (
        (b"<" in odd and _ANGLE.search(text))
        or (b"[" in odd and _BRACKET.search(text))
        or (b"\\" in odd and "\\u{" in text)
        or (b"~" in odd and "]~" in text)
        or (b"@" in odd and _ASCII_FENCE.search(text))
    )


class _Escapes(dict[int, str]):
    """The escape of every character that was escaped so far, as ``str.translate`` takes it."""

    def __missing__(self, code: int) -> str:
        self[code] = f"\\u{{{code:x}}}"
        return self[code]


_ESCAPES = _Escapes()


def _escaped(match: re.Match[str]) -> str:
    return match[0].translate(_ESCAPES)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))
