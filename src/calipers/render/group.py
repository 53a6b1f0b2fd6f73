"""``render``: a group as a judge sees it, the same for the same content in whatever order it arrived; and ``compose``.

A rendered group shows once what its trajectories share: identical ones, their common beginning, and long texts and
images that recur (*exhibits*). Not responsible for instructions, the rubric's position, candidate keys or their order
(``protocols``), nor for a token limit (``fitting``).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from calipers.render.canonical import Reasoning
from calipers.render.escapes import unescape
from calipers.render.transcript import IMAGE, KEY_BYTES, MARK, Transcriber, word
from calipers.rubric import as_standards
from calipers.types import Candidate, Image, Part, RenderedGroup, Rubric, Trajectory, TrajectoryGroup, Transcript

_LEGEND = "marks layout: a line that begins otherwise is part of the record."
_SEE_LEGEND = ' "see X1" stands for the text of exhibit X1.'
_CONTEXT_LINE = "context: every candidate begins with these messages"
_NO_MESSAGES = "no further messages"
_IMAGE = re.compile(f"{IMAGE}([^{IMAGE}]*){IMAGE}([^{IMAGE}]*){IMAGE}")

# A reference costs about four tokens and a look elsewhere; shorter texts are easier to read in place.
SHORTEST_EXHIBIT = 200
# Blocks whose content begins on the header line itself.
_ONE_LINE_BLOCKS = frozenset({"call", "fields", "part"})

# Markers are syllables: those cost two to three tokens in current vocabularies (random letters and digits cost more),
# and models copy them without slips. These letters spell no rude word.
_CONSONANTS = "bdhjkmnprvwz"
_VOWELS = "aeiou"
_DRAWS_PER_LENGTH = 8


@dataclass(slots=True)
class _Draft:
    """A candidate being built: its ``transcript`` without the group's context, and the trajectories that have it."""

    transcript: Transcript
    members: list[int]
    elided: tuple[str, ...]


def render(
    group: TrajectoryGroup,
    *,
    reasoning: Reasoning = "hidden",
    rubric: str | Rubric | None = None,
    graded: bool = False,
) -> RenderedGroup:
    """``group`` as a judge will see it. The group's rubric precedes ``rubric``. Never raises for content.

    Criteria become lines of text or, ``graded``, each candidate's ``rubrics``: a trajectory's own before its group's.

    The order of candidates is drawn from their content, so that neither the question nor its seed depends on the order
    in which trajectories arrived. Rewards, gold, metadata and ids are not shown. Trajectories that are identical to a
    judge become one candidate, but a trajectory without messages is never merged.
    """
    transcriber = Transcriber(group, reasoning)
    opening, context = transcriber.blocks, transcriber.messages
    drafts = []
    for position, trajectory in enumerate(group.trajectories):
        transcript = transcriber.transcript(trajectory)
        drafts.append(_Draft(transcript, [position], transcript.elided))
    chosen = group.rubric if group.rubric is not None else rubric
    criteria = [_criteria(trajectory, group.rubric, rubric) for trajectory in group.trajectories] if graded else []
    distinct = _distinct(drafts, criteria)
    rubric = None if graded else as_standards(chosen) if isinstance(chosen, Rubric) else chosen
    digest = _digest(opening, distinct, rubric)
    # A single distinct candidate shares nothing: all its messages stay in its body.
    common = common_length([draft.transcript.blocks for draft in distinct]) if len(distinct) > 1 else 0
    prefix = [*opening, *distinct[0].transcript.blocks[:common]] if common else opening
    names = exhibits(chain(prefix, *(draft.transcript.blocks[common:] for draft in distinct)))
    lines = list(dict.fromkeys(line for draft in distinct for line in draft.transcript.tools))
    head = _head(lines, refer(prefix, names), names)
    bodies = [_offered(draft, distinct, lines) + _body(draft.transcript.blocks[common:], names) for draft in distinct]
    marker = draw_marker(digest, (head, *bodies, rubric or ""))
    return RenderedGroup(
        group_id=group.group_id,
        ids=tuple(trajectory.id for trajectory in group.trajectories),
        digest=digest.hex(),
        marker=marker,
        head=_parts(head, marker),
        candidates=tuple(
            Candidate(tuple(draft.members), (*context, *draft.transcript.messages), _parts(body, marker), draft.elided)
            for draft, body in zip(distinct, bodies, strict=True)
        ),
        rubric=rubric,
        tools=tuple(transcriber.definitions[line] for line in lines) or None,
        prefix_length=len(prefix),
        warnings=tuple(f"trajectory {t.id!r} has no messages" for t in group.trajectories if not t.messages),
        rubrics=tuple(criteria[draft.members[0]] for draft in distinct) if graded else (),
    )


def compose(view: RenderedGroup, order: Sequence[int], keys: Sequence[str]) -> tuple[Part, ...]:
    """The head, then the candidates at positions ``order``, each under its opaque key; adjacent texts are joined.

    ``keys`` are distinct and as many as ``order``; ValueError otherwise.
    """
    if len(set(keys)) != len(keys):
        raise ValueError(f"candidate keys repeat: {list(keys)}")
    parts: list[Part] = list(view.head)
    for position, key in zip(order, keys, strict=True):
        name = word(key)
        parts += [f"{view.marker} candidate {name}\n", *view.candidates[position].body, f"{view.marker} end {name}\n"]
    return merged(parts)


def merged(parts: Iterable[Part]) -> tuple[Part, ...]:
    """``parts`` with adjacent texts joined and empty ones dropped."""
    joined: list[Part] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        else:
            joined += [*filter(None, ["".join(texts)]), part]
            texts.clear()
    return (*joined, *filter(None, ["".join(texts)]))


def characters(parts: Iterable[Part]) -> int:
    """How many characters of text ``parts`` hold; images count as 0."""
    return sum(len(part) for part in parts if not isinstance(part, Image))


def _criteria(trajectory: Trajectory, *others: str | Rubric | None) -> Rubric | None:
    """What a trajectory is graded by: its own criteria, its group's, or the judge's."""
    return next((rubric for rubric in (trajectory.rubric, *others) if isinstance(rubric, Rubric)), None)


def _distinct(drafts: Sequence[_Draft], criteria: Sequence[Rubric | None]) -> list[_Draft]:
    """Drafts in the order of their keys, identical ones merged unless their criteria differ."""
    merged: dict[tuple[bytes, int, int], _Draft] = {}
    for draft in drafts:
        rubric = criteria.index(criteria[draft.members[0]]) if criteria else 0
        transcript = draft.transcript
        first = merged.setdefault((transcript.key, -1 if transcript.messages else draft.members[0], rubric), draft)
        if first is not draft:
            first.members += draft.members
            first.elided = tuple(sorted({*first.elided, *draft.elided}))
    return [merged[key] for key in sorted(merged)]


def _digest(opening: Sequence[str], drafts: Sequence[_Draft], rubric: str | None) -> bytes:
    digest = hashlib.blake2b("".join(opening).encode(), digest_size=KEY_BYTES)
    digest.update(MARK.encode())
    for draft in drafts:
        digest.update(draft.transcript.key)
    digest.update((rubric or "").encode("utf-8", "surrogatepass"))
    return digest.digest()


def _head(tools: Sequence[str], prefix: str, names: Mapping[str, str]) -> str:
    head = f"{MARK}{_LEGEND}{_SEE_LEGEND if names else ''}\n"
    head += f"{MARK}tools\n" + "".join(f"{line}\n" for line in tools) if tools else ""
    if prefix:
        head += f"{MARK}{_CONTEXT_LINE}\n{prefix}"
    return head + "".join(f"{MARK}exhibit {name}\n{text}" for text, name in names.items())


def _offered(draft: _Draft, drafts: Sequence[_Draft], lines: list[str]) -> str:
    """Which tools a candidate had, stated only where candidates differ."""
    if not lines or all(list(other.transcript.tools) == lines for other in drafts):
        return ""
    numbers = " ".join(str(lines.index(line) + 1) for line in draft.transcript.tools)
    return f"{MARK}offered tools {numbers}\n" if numbers else f"{MARK}offered no tools\n"


def _body(blocks: Sequence[str], names: Mapping[str, str]) -> str:
    return refer(blocks, names) if blocks else f"{MARK}{_NO_MESSAGES}\n"


def _parts(text: str, marker: str) -> tuple[Part, ...]:
    text = text.replace(MARK, f"{marker} ")
    if IMAGE not in text:
        return (text,) if text else ()
    pieces = _IMAGE.split(text)
    parts: list[Part] = []
    for place in range(0, len(pieces), 3):
        if pieces[place]:
            parts.append(pieces[place])
        if place + 1 < len(pieces):
            parts.append(Image(unescape(pieces[place + 1]), unescape(pieces[place + 2]) or None))
    return tuple(parts)


def common_length(bodies: Sequence[Sequence[str]]) -> int:
    """How many leading blocks all ``bodies`` have in common."""
    if not bodies:
        return 0
    length = 0
    for blocks in zip(*bodies, strict=False):
        if blocks.count(blocks[0]) < len(blocks):
            break
        length += 1
    return length


def exhibits(blocks: Iterable[str]) -> dict[str, str]:
    """Texts that occur at least twice, mapped to their names ``X1``, ``X2``, ... in order of first appearance."""
    pieces: list[str] = []
    for block in blocks:
        if len(block) >= SHORTEST_EXHIBIT or IMAGE in block:
            pieces += [block] if block.find(MARK, 1) < 0 else block.split(MARK)[1:]
    # Texts of different lengths differ, and need not be cut out and compared.
    lengths = [len(piece) - piece.find("\n") for piece in pieces]
    if len(set(lengths)) == len(lengths):
        return {}
    texts = [text for piece in pieces if (text := _shareable(piece.removeprefix(MARK)))]
    recurring = (text for text, count in Counter(texts).items() if count > 1)
    return {text: f"X{number}" for number, text in enumerate(recurring, 1)}


def refer(blocks: Iterable[str], names: Mapping[str, str]) -> str:
    """``blocks`` as one text, with exhibits replaced by references."""
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
    """The text under a piece's header if it is worth an exhibit, otherwise an empty text."""
    header, _, text = piece.partition("\n")
    if (len(text) >= SHORTEST_EXHIBIT or text.startswith(IMAGE)) and header.partition(" ")[0] not in _ONE_LINE_BLOCKS:
        return text
    return ""


def draw_marker(seed: bytes, texts: tuple[str, ...]) -> str:
    """A marker such as ``@kom`` that occurs in none of ``texts``; the same for the same arguments.

    A marker that occurs is drawn again, longer after some draws, so this ends: texts are finite.
    """
    attempt = 0
    while True:
        syllables = 1 + attempt // _DRAWS_PER_LENGTH
        marker = _spelled(hashlib.blake2b(seed + attempt.to_bytes(4, "big"), digest_size=64).digest(), syllables)
        # A text without "@" holds no marker, and searching for one character is a hundred times faster.
        if not any("@" in text and marker in text for text in texts):
            return marker
        attempt += 1


def _spelled(digest: bytes, syllables: int) -> str:
    number = int.from_bytes(digest, "big")
    number, pick = divmod(number, len(_CONSONANTS))
    spelled = "@" + _CONSONANTS[pick]
    for _ in range(syllables):
        number, vowel = divmod(number, len(_VOWELS))
        number, pick = divmod(number, len(_CONSONANTS))
        spelled += _VOWELS[vowel] + _CONSONANTS[pick]
    return spelled
