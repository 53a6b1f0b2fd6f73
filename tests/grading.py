"""A judge of criteria for tests: it knows which are met, and writes its verdicts the way a test says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calipers.rubric import as_rubric
from calipers.types import Completion, JudgeRequest, Trajectory, TrajectoryGroup, Usage

Truth = Callable[[str, str], Any]
"""(trajectory id, criterion id) to met, or to the name of a level."""
Spoil = Callable[[dict[str, Any], JudgeRequest, int], str | Exception | None]
"""(the honest reply, the request, the number of this call from 0) to another reply, an error to raise, or None."""


RUBRIC = as_rubric([
    {"id": "rest", "text": "Suggests rest.", "points": 5},
    {"id": "fluids", "text": "Suggests fluids.", "points": 3},
    {"id": "drugs", "text": "Prescribes antibiotics.", "points": -6},
])  # fmt: skip
TEXTS = {"a": "Rest, and drink a lot.", "b": "Rest.", "c": "Take antibiotics."}


class Grader:
    """Answers every question about criteria truthfully unless ``spoil`` says otherwise; keeps what it was asked."""

    endpoint = "grader"

    def __init__(
        self, truth: Truth | Mapping[str, Sequence[str]], spoil: Spoil | None = None, *, model: str = "truthful"
    ) -> None:
        self.model = model
        self.asked: list[JudgeRequest] = []
        self._truth = truth if callable(truth) else (lambda name, criterion: criterion in truth[name])
        self._spoil = spoil

    async def complete(self, request: JudgeRequest) -> Completion:
        number = len(self.asked)
        self.asked.append(request)
        reply = self.reply(request)
        spoiled = self._spoil(reply, request, number) if self._spoil is not None else None
        if isinstance(spoiled, Exception):
            raise spoiled
        text = json.dumps(reply) if spoiled is None else spoiled
        return Completion(text, usage=Usage(100, 10))

    def reply(self, request: JudgeRequest) -> dict[str, Any]:
        ask, view = request.ask, request.view
        names = {item: view.ids[view.candidates[item].members[0]] for item in ask.order}
        properties = (request.schema or {})["properties"]
        if set(properties) <= set(request.keys):
            shown = dict(zip(request.keys, ask.order, strict=True))
            asked = [(key, names[shown[key]], ask.criteria[0]) for key in properties]
        else:
            asked = [(key, names[ask.members[0]], one) for key, one in zip(properties, ask.criteria, strict=True)]
        return {key: self._entry(properties[key], name, criterion) for key, name, criterion in asked}

    def _entry(self, schema: Mapping[str, Any], name: str, criterion: str) -> Any:
        said = self._truth(name, criterion)
        if "properties" not in schema:
            return said
        field = "level" if "level" in schema["properties"] else "met"
        return {"reason": f"{name} {criterion}", field: said}


def answers(texts: Mapping[str, str], *, group_id: str = "g", rubric: Any = None) -> TrajectoryGroup:
    """A group of one-message answers to one question."""
    members = tuple(Trajectory(name, ({"role": "assistant", "content": text},)) for name, text in texts.items())
    return TrajectoryGroup(
        group_id, members, ({"role": "user", "content": "What helps against a cold?"},), rubric=rubric
    )
