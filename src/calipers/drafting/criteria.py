"""Criteria of a drafted rubric: asked for, merged where alike, measured on graded groups, written as a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from calipers.errors import PermanentError
from calipers.protocols.question import EVIDENCE, draw_candidate_keys, message_content, object_schema
from calipers.render import compose
from calipers.replies.proposed import proposed_criteria
from calipers.types import Ask, Completion, Criterion, GroupResult, JudgeRequest, RenderedGroup

_BEFORE = """\
You write criteria by which attempts at a kind of task will be graded. Below is one task of that kind, with the \
instructions the agent works under and several attempts."""

_AFTER = """\
Write at most {most} criteria that tell good attempts from poor ones, here and at other tasks under the same \
instructions:
- Each names one thing that a reader of the record can decide with yes or no, without knowing the right answer \
beforehand and without taste.
- It describes what an attempt does, so that it can be met by good and missed by poor attempts, or the reverse.
- It speaks of this kind of task, not of the names and numbers of this one.
- Results and broken rules come before style and length.
- "points" say what it is worth: 1 to 10 where it is desired, -1 to -10 where it is a fault.

Answer with one JSON object and nothing else: {{"criteria": [{{"text": "...", "points": 5}}, ...]}}"""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A criterion that a judge proposed for group ``group_id``."""

    text: str
    points: float
    group_id: str


def proposal_request(
    view: RenderedGroup, *, most: int, max_tokens: int | None, params: Mapping[str, Any]
) -> JudgeRequest:
    """Return the request that asks a judge to draft criteria for a rubric. It holds all candidates of a group."""
    order = tuple(range(len(view.candidates)))
    keys = draw_candidate_keys(view, len(order), "draft")
    system = "\n\n".join((_BEFORE, EVIDENCE, _AFTER.format(most=most)))
    closing = '\nAnswer in JSON: {"criteria": [{"text": ..., "points": ...}, ...]}'
    messages = (
        {"role": "system", "content": system},
        {"role": "user", "content": message_content(compose(view, order, keys, closing))},
    )
    entry = object_schema({"text": {"type": "string"}, "points": {"type": "integer"}})
    schema = object_schema({"criteria": {"type": "array", "items": entry}})
    return JudgeRequest(messages, keys, Ask(0, order, order), view, schema, max_tokens, params)


def read_proposals(completion: Completion, group_id: str) -> tuple[Proposal, ...]:
    """Return the criteria that a judge's reply proposes for a rubric draft. Raises PermanentError of kind "bad_reply"
    if there are none.

    Entries are skipped if they have no text, or if their points are 0, outside the scale or in words. No single entry
    is needed.
    """
    if completion.finish_reason == "refused":
        raise PermanentError("refused", "the judge refused to propose criteria")
    found = [Proposal(one.text, one.points, group_id) for one in proposed_criteria(completion.text)]
    if not found:
        raise PermanentError("bad_reply", "the reply holds no criteria that could be read")
    return tuple(found)


ALIKE = 0.6
"""Two texts count as the same criterion if they share at least this part of their words (Jaccard index)."""
_FILLER = re.compile(
    "an?|and|any|are|as|at|attempt|but|by|does|each|every|for|from|has|have|in|into|is|its?|of|on|or|that|the|their|them|then"
    "|this|to|was|were|when|where|which|while|with|agent|response|answer|user"
)
_WORD = re.compile(r"[^\W_]+")
_NEGATIONS = frozenset({"not", "no", "never", "without", "fails", "avoids", "lacks", "omits"})


@dataclass(frozen=True, slots=True)
class Merged:
    """A merged criterion, and the number of groups for which it was proposed."""

    criterion: Criterion
    groups: int


def merge_proposals(proposals: Sequence[Proposal], most: int) -> tuple[Merged, ...]:
    """Return at most ``most`` merged criteria for the rubric draft. Those proposed for the largest number of groups
    come first.

    A merged criterion has the first proposal's text and the median of the points. Two proposals are merged if three
    things hold: they share more than a certain part of their words (``ALIKE``), both are desired or both are faults,
    and both or neither are worded negatively.
    """
    merged: list[list[Proposal]] = []
    for proposal in proposals:
        same = next((one for one in merged if _alike(one[0], proposal)), None)
        if same is None:
            merged.append([proposal])
        else:
            same.append(proposal)
    ranked = sorted(merged, key=lambda one: -len({proposal.group_id for proposal in one}))[:most]
    return tuple(
        Merged(
            Criterion(f"c{place}", one[0].text, round(median(proposal.points for proposal in one), 1)),
            len({proposal.group_id for proposal in one}),
        )
        for place, one in enumerate(ranked, start=1)
    )


def _alike(one: Proposal, other: Proposal) -> bool:
    if (one.points > 0) != (other.points > 0):
        return False
    if one.text.casefold() == other.text.casefold():
        return True
    first, second = _words(one.text), _words(other.text)
    if bool(first & _NEGATIONS) != bool(second & _NEGATIONS):
        return False
    both = first | second
    return bool(both) and len(first & second) / len(both) >= ALIKE


def _words(text: str) -> frozenset[str]:
    """Return the meaningful words of a criterion, without the most common endings."""
    found = (word.casefold() for word in _WORD.findall(text))
    return frozenset(re.sub(r"(?<=\w{3})(?:ing|ed|es|s)$", "", word) for word in found if not _FILLER.fullmatch(word))


LEAST_AGREEMENT = 0.75
LEAST_DECIDED = 0.7
LEAST_PAIRS = 6
"""A criterion that contradicts gold is dropped only with at least this many pairs with gold. With fewer pairs, the
contradiction may be chance.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of a drafted criterion. Shares are in [0, 1], or None if there was nothing to count.

    ``separates`` is the share of groups in which some trajectories met the criterion and others did not. ``agreement``
    is the share of trajectories on which repeated gradings gave the same verdict. ``decided`` is the share of verdicts
    that were readable, and ``met`` the share of these that are positive. ``pairs`` counts the pairs of trajectories of
    a group that differ both in their verdicts and in gold. ``with_gold`` is the share of them in which gold and the
    criterion prefer the same trajectory.
    """

    separates: float | None
    agreement: float | None
    decided: float
    met: float | None
    with_gold: float | None = None
    pairs: int = 0

    def fault(self) -> str | None:
        """Return the reason why the drafted criterion is not useful, or None if it is useful."""
        if self.decided < LEAST_DECIDED:
            return f"only {self.decided:.0%} of its verdicts could be read"
        if not self.separates:
            return "it never separates the trajectories of a group"
        if self.agreement is not None and self.agreement < LEAST_AGREEMENT:
            return f"asked twice, the judge agrees with itself on {self.agreement:.0%} of the trajectories"
        if self.with_gold is not None and self.pairs >= LEAST_PAIRS and self.with_gold < 0.5:
            return f"it points the wrong way in {1 - self.with_gold:.0%} of {self.pairs} pairs with gold"
        return None


def measure_criterion(
    criterion: Criterion, results: Sequence[GroupResult], gold: Mapping[tuple[str, str], float]
) -> Measured:
    """Return the figures of a drafted ``criterion`` on graded groups. ``gold`` is keyed by (group id, trajectory
    id).
    """
    votes = [
        {one.id: _votes(one.extra.get("criteria"), criterion.id) for one in result.trajectories} for result in results
    ]
    every = [vote for of_group in votes for own in of_group.values() for vote in own]
    known = [vote for vote in every if vote is not None]
    repeated = [own for of_group in votes for own in of_group.values() if len(own) > 1 and None not in own]
    sides = [{vote for own in of_group.values() for vote in own[:1] if vote is not None} for of_group in votes]
    separated = [len(side) > 1 for side, of_group in zip(sides, votes, strict=True) if len(of_group) > 1]
    right = [
        agrees for result, own in zip(results, votes, strict=True) for agrees in _pairs(criterion, result, own, gold)
    ]
    return Measured(
        _share(separated),
        _share([len(set(own)) == 1 for own in repeated]),
        len(known) / len(every) if every else 0.0,
        _share(known),
        _share(right),
        len(right),
    )


def _votes(grades: Any, criterion: str) -> list[bool | None]:
    """Return the verdicts of all gradings of a trajectory for one criterion."""
    one = grades.get(criterion) if isinstance(grades, Mapping) else None
    if one is None:
        return []
    return list(one["votes"]) if "votes" in one else [one["met"]]


def _pairs(
    criterion: Criterion,
    result: GroupResult,
    votes: Mapping[str, Sequence[bool | None]],
    gold: Mapping[tuple[str, str], float],
) -> list[bool]:
    first = {
        name: (own[0], gold[result.group_id, name])
        for name, own in votes.items()
        if own and own[0] is not None and (result.group_id, name) in gold
    }
    found = []
    for (one_met, one_gold), (other_met, other_gold) in combinations(first.values(), 2):
        if one_met != other_met and one_gold != other_gold:
            found.append((one_gold > other_gold) == (bool(one_met) == (criterion.points > 0)))
    return found


def _share(cases: Sequence[bool]) -> float | None:
    return sum(cases) / len(cases) if cases else None


Entry = tuple[Merged, Measured]


def rubric_toml(kept: Sequence[Entry], dropped: Sequence[Entry], *, title: str) -> str:
    """Return the drafted rubric as TOML: first the criteria, then the dropped criteria in comments, with the reason."""
    parts = [f"# {_one_line(title)}\n# Edit it: weights are a judge's guess, and figures are from few groups.\n"]
    if not any(merged.criterion.points > 0 for merged, _ in kept):
        parts.append('all_negative = "from_one" # no desired criterion is left: the score starts at 1 and falls\n')
    for merged, measured in kept:
        parts.append(f"# {_figures(merged, measured)}\n{_table(merged)}")
    if dropped:
        parts.append("# Dropped:\n")
    for merged, measured in dropped:
        commented = "".join(f"# {line}\n" for line in _table(merged).splitlines())
        parts.append(f"# {measured.fault()} ({_figures(merged, measured)})\n{commented}")
    return "\n".join(parts)


def _table(merged: Merged) -> str:
    criterion = merged.criterion
    return f'[[criteria]]\nid = "{criterion.id}"\ntext = {_string(criterion.text)}\npoints = {criterion.points:g}\n'


def _figures(merged: Merged, measured: Measured) -> str:
    shares = {
        "proposed for": f"{merged.groups} group{'s' * (merged.groups != 1)}",
        "met by": _percent(measured.met),
        "separates": f"{_percent(measured.separates)} of groups",
        "agrees with itself": _percent(measured.agreement),
        "decided": _percent(measured.decided),
    }
    if measured.pairs:
        shares["gold agrees"] = f"{_percent(measured.with_gold)} of {measured.pairs} pairs"
    return "; ".join(f"{name} {share}" for name, share in shares.items())


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.0%}"


def _string(text: str) -> str:
    """Return a TOML basic string: JSON's escapes are valid in TOML, which also requires DEL to be escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
