"""A panel whose judges have rubrics of their own: each is asked the same question with its own standards.

Not responsible for which judge has which rubric (``judging.contradictions``), or for groups' own rubrics, which every
judge gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calipers.interfaces import JudgingProtocol
from calipers.types import Ask, Completion, JudgeRequest, Reading, RenderedGroup


@dataclass(frozen=True, slots=True)
class OwnRubrics:
    """The protocol ``inner``, asked of each judge of a panel with its own rubric.

    ``rubrics`` are by slot; None is the panel's rubric ``usual``. A group that brings a rubric keeps it. Criteria that
    were written for a group's prompt follow the usual rubric after an empty line, and a judge's own likewise.
    """

    inner: JudgingProtocol
    rubrics: Sequence[str | None]
    usual: str

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest:
        """Return the inner protocol's question, with the rubric of the judge that is asked."""
        own, shown = self.rubrics[ask.slot], view.rubric or self.usual
        if own is None or not (shown == self.usual or shown.startswith(f"{self.usual}\n\n")):
            return self.inner.frame(ask, view)
        rubric = own + shown.removeprefix(self.usual)
        return replace(self.inner.frame(ask, replace(view, rubric=rubric)), view=view)

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """Read a reply as the inner protocol does; the rubric does not change its form."""
        return self.inner.read(request, completion)
