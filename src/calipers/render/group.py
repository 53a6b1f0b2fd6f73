"""``render``: a group to what a judge is shown, the same for the same content in whatever order it arrived.

Not responsible for instructions, the rubric's place, candidate keys or their order (``protocols``), nor for a token
limit: what does not fit is the judge's to abstain from.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from calipers.render.canonical import Reasoning
from calipers.render.escapes import unescape
from calipers.render.marker import draw
from calipers.render.opening import KEY_BYTES, Opening
from calipers.render.sharing import common_length, exhibits, refer
from calipers.render.transcript import IMAGE, MARK
from calipers.rubric import as_standards
from calipers.types import Candidate, Image, Part, RenderedGroup, Rubric, Trajectory, TrajectoryGroup, Transcript

CONTEXT_LINE = "context: every candidate begins with these messages"
LEGEND = "marks layout: a line that begins otherwise is part of the record."
SEE_LEGEND = ' "see X1" stands for the text of exhibit X1.'
NOTHING_FURTHER = "no further messages"
_IMAGE = re.compile(f"{IMAGE}([^{IMAGE}]*){IMAGE}([^{IMAGE}]*){IMAGE}")


@dataclass(slots=True)
class _Draft:
    """A trajectory on its way to a candidate; ``transcript`` is its own, without the group's context."""

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
    """``group`` as a judge will see it. The group's own rubric goes before ``rubric``. Pure; never raises for content.

    Criteria become lines of text or, ``graded``, each candidate's ``rubrics``: a trajectory's own before its group's.

    Candidates are in an order drawn from their content, so that neither the question nor its seed depends on the
    order in which trajectories arrived. Rewards, gold, metadata and ids are not shown. Trajectories that are the
    same to a judge become one candidate, except that one without messages always stands alone.
    """
    begun = Opening(group, reasoning)
    opening, context, tools = begun.blocks, begun.messages, begun.tools
    drafts = []
    for position, trajectory in enumerate(group.trajectories):
        transcript = begun.written(trajectory)
        drafts.append(_Draft(transcript, [position], transcript.elided))
    chosen = group.rubric if group.rubric is not None else rubric
    criteria = [_criteria(one, group.rubric, rubric) for one in group.trajectories] if graded else []
    distinct = _distinct(drafts, criteria)
    rubric = None if graded else as_standards(chosen) if isinstance(chosen, Rubric) else chosen
    digest = _digest(opening, distinct, rubric)
    # One distinct candidate shares nothing with others: its own messages stay its body.
    common = common_length([draft.transcript.blocks for draft in distinct]) if len(distinct) > 1 else 0
    prefix = [*opening, *distinct[0].transcript.blocks[:common]] if common else opening
    names = exhibits(chain(prefix, *(draft.transcript.blocks[common:] for draft in distinct)))
    lines = list(dict.fromkeys(line for draft in distinct for line in draft.transcript.tools))
    head = _head(lines, refer(prefix, names), names)
    bodies = [_offered(draft, distinct, lines) + _body(draft.transcript.blocks[common:], names) for draft in distinct]
    marker = draw(digest, (head, *bodies, rubric or ""))
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
        tools=tuple(tools.definitions[line] for line in lines) or None,
        prefix_length=len(prefix),
        warnings=tuple(f"trajectory {t.id!r} has no messages" for t in group.trajectories if not t.messages),
        rubrics=tuple(criteria[draft.members[0]] for draft in distinct) if graded else (),
    )


def _criteria(trajectory: Trajectory, *others: str | Rubric | None) -> Rubric | None:
    """What a trajectory is graded by: its own criteria, its group's, or the judge's."""
    return next((one for one in (trajectory.rubric, *others) if isinstance(one, Rubric)), None)


def _distinct(drafts: Sequence[_Draft], criteria: Sequence[Rubric | None]) -> list[_Draft]:
    """Drafts with identical ones merged, in the order of their keys; different criteria keep them apart."""
    kept: dict[tuple[bytes, int, int], _Draft] = {}
    for draft in drafts:
        rubric = criteria.index(criteria[draft.members[0]]) if criteria else 0
        first = kept.setdefault(
            (draft.transcript.key, -1 if draft.transcript.messages else draft.members[0], rubric), draft
        )
        if first is not draft:
            first.members += draft.members
            first.elided = tuple(sorted({*first.elided, *draft.elided}))
    return [kept[key] for key in sorted(kept)]


def _digest(opening: Sequence[str], drafts: Sequence[_Draft], rubric: str | None) -> bytes:
    digest = hashlib.blake2b("".join(opening).encode(), digest_size=KEY_BYTES)
    digest.update(MARK.encode())
    for draft in drafts:
        digest.update(draft.transcript.key)
    digest.update((rubric or "").encode("utf-8", "surrogatepass"))
    return digest.digest()


def _head(tools: Sequence[str], prefix: str, names: Mapping[str, str]) -> str:
    shown = f"{MARK}{LEGEND}{SEE_LEGEND if names else ''}\n"
    shown += f"{MARK}tools\n" + "".join(f"{line}\n" for line in tools) if tools else ""
    if prefix:
        shown += f"{MARK}{CONTEXT_LINE}\n{prefix}"
    return shown + "".join(f"{MARK}exhibit {name}\n{text}" for text, name in names.items())


def _offered(draft: _Draft, drafts: Sequence[_Draft], lines: list[str]) -> str:
    """Which tools a candidate had, said only where candidates differ."""
    if not lines or all(list(other.transcript.tools) == lines for other in drafts):
        return ""
    numbers = " ".join(str(lines.index(line) + 1) for line in draft.transcript.tools)
    return f"{MARK}offered tools {numbers}\n" if numbers else f"{MARK}offered no tools\n"


def _body(blocks: Sequence[str], names: Mapping[str, str]) -> str:
    return refer(blocks, names) if blocks else f"{MARK}{NOTHING_FURTHER}\n"


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
