"""Planner states for tests, without a judge."""

from collections.abc import Mapping, Sequence

from calipers.types import Answered, Ask, Candidate, Failure, PlanState, Rating, Reading, RenderedGroup, Scores


def view_of(candidates: int, *, digest: str = "0" * 32) -> RenderedGroup:
    """A rendered group of ``candidates`` candidates with ids t0, t1, ..."""
    return RenderedGroup(
        group_id="g", ids=tuple(f"t{n}" for n in range(candidates)), digest=digest, marker="@q7x", head=(),
        candidates=tuple(Candidate((n,), (), (f"body {n}\n",)) for n in range(candidates)),
    )  # fmt: skip


def reading_of(ask: Ask, values: Mapping[int, float], **attributes: object) -> Reading:
    """What a reply giving ``values`` (by candidate) is read as."""
    judgments = tuple(Rating(item, value, ask.number) for item, value in values.items())
    missing = {member: "left out" for member in ask.members if member not in values}
    outcome = "strict" if not missing else "partial" if values else "rejected"
    attributes.setdefault("complaint", "it was poor" if missing else None)
    return Reading(judgments, outcome, missing=missing, **attributes)  # type: ignore[arg-type]  # test attributes


def state_of(
    candidates: int,
    *,
    digest: str = "0" * 32,
    seed: int = 0,
    answered: Sequence[tuple[Ask, Mapping[int, float] | Reading | Failure]] = (),
) -> PlanState:
    """A state in which ``answered`` asks ended as given."""
    done = tuple(
        Answered(ask, result if isinstance(result, (Reading, Failure)) else reading_of(ask, result))
        for ask, result in answered
    )
    nothing = (None,) * candidates
    return PlanState(view_of(candidates, digest=digest), done, Scores(nothing, nothing), seed)
