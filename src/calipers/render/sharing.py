"""What a group shows once for all: its common beginning, and long texts and images that recur.

Works on blocks of text with the placeholder marker (see ``transcript``). Not responsible for merging identical
trajectories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from calipers.render.transcript import IMAGE, MARK

# A reference costs about four tokens and a look elsewhere; shorter texts are easier read where they stand.
SHORTEST_EXHIBIT = 200
# Blocks whose content begins on the header line itself.
_LINES = frozenset({"call", "fields", "part"})


def common_length(bodies: Sequence[Sequence[str]]) -> int:
    """How many leading blocks all of ``bodies`` have in common."""
    if not bodies:
        return 0
    length = 0
    for blocks in zip(*bodies, strict=False):
        if blocks.count(blocks[0]) < len(blocks):
            break
        length += 1
    return length


def exhibits(blocks: Iterable[str]) -> dict[str, str]:
    """Texts standing at two places or more, to their names ``X1``, ``X2``, ... in order of first appearance."""
    pieces: list[str] = []
    for block in blocks:
        if len(block) >= SHORTEST_EXHIBIT or IMAGE in block:
            pieces += [block] if block.find(MARK, 1) < 0 else block.split(MARK)[1:]
    # Of what follows the header. Where all are different so are the texts, which then need not be cut out and compared.
    lengths = [len(piece) - piece.find("\n") for piece in pieces]
    if len(set(lengths)) == len(lengths):
        return {}
    texts = [text for piece in pieces if (text := _shareable(piece.removeprefix(MARK)))]
    recurring = (text for text, count in Counter(texts).items() if count > 1)
    return {text: f"X{number}" for number, text in enumerate(recurring, 1)}


def refer(blocks: Iterable[str], names: Mapping[str, str]) -> str:
    """``blocks`` as one text, exhibits replaced by references."""
    if not names:
        return "".join(blocks)
    return "".join(
        _refer(block, names) if len(block) >= SHORTEST_EXHIBIT or IMAGE in block else block for block in blocks
    )


def _refer(block: str, names: Mapping[str, str]) -> str:
    pieces = block.split(MARK)
    for place, piece in enumerate(pieces):
        name = names.get(_shareable(piece))
        if name:
            pieces[place] = f"{piece.partition(chr(10))[0]} see {name}\n"
    return MARK.join(pieces)


def _shareable(piece: str) -> str:
    """The text under a piece's header if it is worth an exhibit, else nothing."""
    header, _, text = piece.partition("\n")
    if (len(text) >= SHORTEST_EXHIBIT or text.startswith(IMAGE)) and header.partition(" ")[0] not in _LINES:
        return text
    return ""
