"""What another package may add to calipers: a judge of each sort, a protocol, a reward, a verifier and a reader.

Its entry points stand in the folder beside it, as an installer would write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calipers.backends import Provider
from calipers.protocols.scores import Listwise
from calipers.registry import Method
from calipers.types import Completion, JudgeRequest, RenderedGroup, Scores, Trajectory, Verdict
from calipers.verifiers import final_answer


class Wordy:
    """A judge in this process: ten points a word, and ``bonus`` for everybody."""

    endpoint = "wordy"

    def __init__(self, bonus: str = "0") -> None:
        self.model = f"wordy-{bonus}"
        self._bonus = int(bonus)

    async def complete(self, request: JudgeRequest) -> Completion:
        """Scores in the form that was asked for."""
        texts = [request.view.candidates[item].messages[-1]["content"] for item in request.ask.order]
        scores = [10 * len(text.split()) + self._bonus for text in texts]
        asked_by = "Acme" if "Acme asks" in request.messages[0]["content"] else "calipers"
        reply = {
            "explanations": dict.fromkeys(request.keys, f"asked by {asked_by}"),
            "scores": dict(zip(request.keys, scores, strict=True)),
        }
        return Completion(json.dumps(reply))


class Cloud(Wordy):
    """The same as a provider's model, which sees how it was reached."""

    def __init__(self, model: str, *, base_url: str, api_key: str | None, **_: Any) -> None:
        super().__init__()
        self.endpoint = f"{base_url} with {api_key}"
        self.model = model


CLOUD = Provider("https://acme.example/v1", "ACME_CLOUD_API_KEY", backend="acme_judging:Cloud")


class Terse(Listwise):
    """Listwise, in other words."""

    __slots__ = ()

    before = "Acme asks: which is best?"
    after = "From 0 to 100."


TERSE = Method(Terse)


@dataclass(frozen=True, slots=True)
class Cubed:
    """The cube of the score."""

    reward_range: tuple[float, float]

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """One reward per candidate."""
        low, high = self.reward_range
        return tuple(None if one is None else low + (high - low) * one**3 for one in scores.values)


@dataclass(frozen=True, slots=True)
class EndsWith:
    """The final answer ends with ``text``."""

    text: str

    def __call__(self, trajectory: Trajectory) -> Verdict:
        return Verdict((final_answer(trajectory) or "").endswith(self.text))


def read_talk(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Blocks of lines, parted by empty ones: a question, then its answers."""
    for number, block in enumerate(path.read_text().strip().split("\n\n"), 1):
        question, *answers = block.splitlines()
        context = [{"role": "user", "content": question}]
        members = [{"messages": [{"role": "assistant", "content": one}]} for one in answers]
        yield number, {"context": context, "trajectories": members} if answers else "it has no answers"
