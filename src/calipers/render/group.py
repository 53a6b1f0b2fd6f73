"""Renders a group as the judge will see it, and composes the part of a question that shows it.

The same content gives the same text, in whatever order the trajectories arrived. Content that trajectories share is
written only once: identical trajectories, a common beginning, and long texts and images that recur (*exhibits*).
``protocols`` write the instructions and the rubric, and choose the candidates' keys and order. ``fitting`` applies a
token limit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from calipers.render.canonical import Reasoning
from calipers.render.escapes import unescape
from calipers.render.transcript import IMAGE, KEY_BYTES, MARK, ONE_LINE, Transcriber, header_word
from calipers.rubric import criteria_as_text
from calipers.types import Candidate, Image, Part, RenderedGroup, Rubric, Trajectory, TrajectoryGroup, Transcript
from calipers.types.steps import Steps, at_once

_LEGEND = "marks layout lines."
_SEE_LEGEND = ' "see {0}" stands for the text of exhibit {0}.'
_SEE = re.compile(r"see (X\d+)")
_ESCAPE_LEGEND = r' "\u{...}" stands for a special character.'
_CONTEXT_LINE = "context of all"
_NO_MESSAGES = "no further messages"
_IMAGE = re.compile(f"{IMAGE}([^{IMAGE}]*){IMAGE}([^{IMAGE}]*){IMAGE}")

# A reference costs about four tokens, and the judge has to look up its text, so shorter texts are not replaced.
SHORTEST_EXHIBIT = 200

# Markers are made of syllables, which take two to three tokens in current vocabularies and which models copy without
# mistakes; random letters and digits take more tokens. These letters spell no rude word.
_CONSONANTS = "bdhjkmnprvwz"
_VOWELS = "aeiou"
_DRAWS_PER_LENGTH = 8

_STEP = 2**15
"""The characters of text that are rendered in one step."""


@dataclass(slots=True)
class _Draft:
    """A candidate that is not written yet: its ``transcript`` without the context, and its
    trajectories (``members``), and a hash of the artifacts that a judge with tools may read.
    """

    transcript: Transcript
    members: list[int]
    elided: tuple[str, ...]
    artifacts: bytes = b""


def render_in_steps(
    group: TrajectoryGroup,
    *,
    reasoning: Reasoning = "hidden",
    rubric: str | Rubric | None = None,
    graded: bool = False,
    beside: Sequence[str] = (),
    artifacts: bool = False,
) -> Steps[RenderedGroup]:
    """Render ``group`` as shown to the judge, in steps. The group's own rubric takes precedence.

    Criteria become lines of text or, with ``graded``, the ``rubrics`` of the candidates: a trajectory's own criteria
    take precedence over the criteria of its group.

    The order of candidates is drawn from their content, so that neither the question nor its seed depends on the order
    in which trajectories arrived. Rewards, gold answers, metadata and ids are not shown. Trajectories that look
    identical to a judge become one candidate, but a trajectory without messages is never merged. The marker occurs in
    none of the texts ``beside``, which questions show as well. With ``artifacts``, judges have tools that read
    artifacts, so that trajectories with different ones are different candidates.
    """
    transcriber = Transcriber(group, reasoning)
    yield from transcriber.write_context()
    opening, context = transcriber.blocks, transcriber.messages
    drafts = []
    size = 0
    for position, trajectory in enumerate(group.trajectories):
        transcript = yield from transcriber.transcript(trajectory)
        left = _artifacts_key(trajectory.artifacts) if artifacts else b""
        drafts.append(_Draft(transcript, [position], transcript.elided, left))
        if (size := size + sum(map(len, transcript.blocks))) > _STEP:
            size = 0
            yield
    chosen = group.rubric if group.rubric is not None else rubric
    criteria = [_criteria(trajectory, group.rubric, rubric) for trajectory in group.trajectories] if graded else []
    distinct = _distinct(drafts, criteria)
    rubric = None if graded else criteria_as_text(chosen) if isinstance(chosen, Rubric) else chosen
    digest = _digest(opening, distinct, rubric)
    # A single distinct candidate shares nothing: all its messages stay in its body.
    common = common_prefix_length([draft.transcript.blocks for draft in distinct]) if len(distinct) > 1 else 0
    prefix = [*opening, *distinct[0].transcript.blocks[:common]] if common else opening
    names = yield from _exhibits_in_steps([prefix, *(draft.transcript.blocks[common:] for draft in distinct)])
    lines = list(dict.fromkeys([line for draft in distinct for line in draft.transcript.tools]))
    head = _head(lines, refer_to_exhibits(prefix, names), names)
    yield
    bodies = []
    for draft in distinct:
        blocks = draft.transcript.blocks[common:]
        body = refer_to_exhibits(blocks, names) if blocks else f"{MARK}{_NO_MESSAGES}\n"
        bodies.append((_offered(draft, distinct, lines) if lines else "") + body)
        if (size := size + len(body)) > _STEP:
            size = 0
            yield
    if any("\\u{" in text for text in (head, *bodies)):
        head = head.replace("\n", f"{_ESCAPE_LEGEND}\n", 1)
    marker = draw_marker(digest, (head, *bodies, rubric or "", *beside))
    artifacts_of_members = tuple(trajectory.artifacts for trajectory in group.trajectories)
    yield
    head_parts = _parts(head, marker)
    candidates = []
    for draft, body in zip(distinct, bodies, strict=True):
        if (size := size + len(body)) > _STEP:
            size = 0
            yield
        messages = (*context, *draft.transcript.messages)
        candidates.append(Candidate(tuple(draft.members), messages, _parts(body, marker), draft.elided))
    return RenderedGroup(
        group_id=group.group_id,
        ids=tuple([trajectory.id for trajectory in group.trajectories]),
        digest=digest.hex(),
        marker=marker,
        head=head_parts,
        candidates=tuple(candidates),
        rubric=rubric,
        tools=tuple(transcriber.definitions[line] for line in lines) or None,
        prefix_length=len(prefix),
        warnings=tuple([f"trajectory {t.id!r} has no messages" for t in group.trajectories if not t.messages]),
        rubrics=tuple(criteria[draft.members[0]] for draft in distinct) if graded else (),
        gold=tuple([trajectory.gold for trajectory in group.trajectories]),
        metadata=tuple([trajectory.metadata for trajectory in group.trajectories]),
        artifacts=artifacts_of_members if artifacts and (group.artifacts or any(artifacts_of_members)) else (),
        task_artifacts=group.artifacts if artifacts else {},
    )


render = at_once(render_in_steps)


def compose(view: RenderedGroup, order: Sequence[int], keys: Sequence[str], closing: str = "") -> tuple[Part, ...]:
    """Return a question's transcript: the head, then the candidates at positions ``order``, each under its opaque key,
    and the question's ``closing`` text.

    Adjacent texts are joined. ``keys`` are distinct and as many as ``order``; ValueError otherwise.
    """
    if len(set(keys)) != len(keys):
        raise ValueError(f"candidate keys repeat: {list(keys)}")
    parts: list[Part] = list(view.head)
    for position, key in zip(order, keys, strict=True):
        parts += [f"{view.marker} candidate {header_word(key)}\n", *view.candidates[position].body]
    if keys:
        parts.append(f"{view.marker} end\n")
    return join_texts([*parts, closing])


def join_texts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Join adjacent texts of a transcript's ``parts``, and drop empty texts."""
    joined: list[Part] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        else:
            joined += [*filter(None, ["".join(texts)]), part]
            texts.clear()
    return (*joined, *filter(None, ["".join(texts)]))


def _criteria(trajectory: Trajectory, *others: str | Rubric | None) -> Rubric | None:
    """Return the criteria by which a trajectory is graded: its own, or the first of ``others`` that has criteria."""
    return next((rubric for rubric in (trajectory.rubric, *others) if isinstance(rubric, Rubric)), None)


def _distinct(drafts: Sequence[_Draft], criteria: Sequence[Rubric | None]) -> list[_Draft]:
    """Return the draft candidates sorted by their keys. Drafts with equal transcripts are merged if their criteria and
    artifacts are equal.
    """
    by_key: dict[tuple[bytes, int, int, bytes], _Draft] = {}
    for draft in drafts:
        rubric = criteria.index(criteria[draft.members[0]]) if criteria else 0
        transcript = draft.transcript
        empty = -1 if transcript.messages else draft.members[0]
        first = by_key.setdefault((transcript.key, empty, rubric, draft.artifacts), draft)
        if first is not draft:
            first.members += draft.members
            first.elided = tuple(sorted({*first.elided, *draft.elided}))
    return [by_key[key] for key in sorted(by_key)]


def _digest(opening: Sequence[str], drafts: Sequence[_Draft], rubric: str | None) -> bytes:
    digest = hashlib.blake2b("".join(opening).encode(), digest_size=KEY_BYTES)
    digest.update(MARK.encode())
    for draft in drafts:
        digest.update(draft.transcript.key + draft.artifacts)
    digest.update((rubric or "").encode("utf-8", "surrogatepass"))
    return digest.digest()


def _artifacts_key(artifacts: Mapping[str, str]) -> bytes:
    """Return a hash of a trajectory's artifacts, or no bytes if there are none."""
    if not artifacts:
        return b""
    listed = json.dumps(sorted(artifacts.items())).encode()
    return hashlib.blake2b(listed, digest_size=KEY_BYTES).digest()


def _head(tools: Sequence[str], prefix: str, names: Mapping[str, str]) -> str:
    head = f"{MARK}{_LEGEND}{_SEE_LEGEND.format(next(iter(names.values()))) if names else ''}\n"
    head += f"{MARK}tools\n" + "".join(f"{line}\n" for line in tools) if tools else ""
    if prefix:
        head += f"{MARK}{_CONTEXT_LINE}\n{prefix}"
    return head + "".join(f"{MARK}exhibit {name}\n{text}" for text, name in names.items())


def _offered(draft: _Draft, drafts: Sequence[_Draft], lines: list[str]) -> str:
    """Return the layout line that names a candidate's tools, or an empty text if all candidates had the same tools."""
    if all(list(sibling.transcript.tools) == lines for sibling in drafts):
        return ""
    numbers = " ".join(str(lines.index(line) + 1) for line in draft.transcript.tools)
    return f"{MARK}offered tools {numbers}\n" if numbers else f"{MARK}offered no tools\n"


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


def common_prefix_length(bodies: Sequence[Sequence[str]]) -> int:
    """Return how many leading blocks all transcripts ``bodies`` have in common."""
    length = 0
    for blocks in zip(*bodies, strict=False):
        if blocks.count(blocks[0]) < len(blocks):
            break
        length += 1
    return length


def _exhibits_in_steps(transcripts: Sequence[Sequence[str]]) -> Steps[dict[str, str]]:
    """Map texts that recur in the blocks of all ``transcripts`` to their names ``X1``, ``X2``, ... in order of first
    appearance. A name to which content already refers is not used.
    """
    pieces: list[list[str]] = []
    lengths: set[int] = set()
    recurring: set[int] = set()
    for blocks in transcripts:
        parts: list[str] = []
        for block in blocks:
            if len(block) >= SHORTEST_EXHIBIT or IMAGE in block:
                parts += [block] if block.find(MARK, 1) < 0 else block.split(MARK)[1:]
        for length in map(_text_length, parts):
            (recurring if length in lengths else lengths).add(length)
        if parts:
            pieces.append(parts)
            yield
    # Texts of different lengths differ, so most need not be cut out and compared.
    counts: dict[str, int] = {}
    for parts in pieces if recurring else ():
        for piece in parts:
            if _text_length(piece) in recurring and (text := _shareable(piece.removeprefix(MARK))):
                counts[text] = counts.get(text, 0) + 1
        yield
    if not counts:
        return {}
    shared = [text for text, uses in counts.items() if uses > 1]
    used = {name for blocks in transcripts for block in blocks if "see X" in block for name in _SEE.findall(block)}
    names = (name for name in map("X{}".format, count(1)) if name not in used)
    return dict(zip(shared, names, strict=False))


def refer_to_exhibits(blocks: Iterable[str], names: Mapping[str, str]) -> str:
    """Join the transcript's ``blocks`` into one text in which references replace the exhibits."""
    if not names:
        return "".join(blocks)
    lengths = frozenset(map(len, names))
    return "".join(
        _block_with_references(block, names, lengths) if len(block) >= SHORTEST_EXHIBIT or IMAGE in block else block
        for block in blocks
    )


def _block_with_references(block: str, names: Mapping[str, str], lengths: frozenset[int]) -> str:
    if block.find(MARK, 1) < 0 and _text_length(block) not in lengths:
        return block
    pieces = block.split(MARK)
    for place, piece in enumerate(pieces):
        name = _text_length(piece) in lengths and names.get(_shareable(piece))
        if name:
            pieces[place] = f"{piece.partition(chr(10))[0]} see {name}\n"
    return MARK.join(pieces)


def _text_length(piece: str) -> int:
    """Return the length of the text under a block's header."""
    return len(piece) - piece.find("\n") - 1


def _shareable(piece: str) -> str:
    """Return the text under a block's header if it is long enough for an exhibit, otherwise an empty text."""
    header, _, text = piece.partition("\n")
    if (len(text) >= SHORTEST_EXHIBIT or text.startswith(IMAGE)) and header.partition(" ")[0] not in ONE_LINE:
        return text
    return ""


def draw_marker(seed: bytes, texts: tuple[str, ...]) -> str:
    """Return a marker such as ``@kom`` that occurs in none of ``texts``. Equal arguments give the same marker.

    If a marker occurs in a text, another one is drawn; later draws are longer. This ends because texts are finite.
    """
    # A text without "@" contains no marker, and searching for one character is a hundred times faster.
    texts = tuple(text for text in texts if "@" in text)
    drawn = (_drawn(seed, attempt) for attempt in count())
    return next(marker for marker in drawn if not any(marker in text for text in texts))


def _drawn(seed: bytes, attempt: int) -> str:
    number = int.from_bytes(hashlib.blake2b(seed + attempt.to_bytes(4, "big"), digest_size=64).digest(), "big")
    number, pick = divmod(number, len(_CONSONANTS))
    spelled = "@" + _CONSONANTS[pick]
    for _ in range(1 + attempt // _DRAWS_PER_LENGTH):
        number, vowel = divmod(number, len(_VOWELS))
        number, pick = divmod(number, len(_CONSONANTS))
        spelled += _VOWELS[vowel] + _CONSONANTS[pick]
    return spelled
