"""Replies that take their verdict back, quote somebody else's, or hold numbers that are no scores; and look-alikes.

The truth is known by construction: ``fixtures/takebacks.txt`` says what words do to a verdict, and here they are put
around verdicts in several formats. ``fixtures/takebacks.jsonl`` has whole replies, one a line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from calipers.replies import extract_ranking, extract_scores, extract_verdict

FIXTURES = Path(__file__).parent / "fixtures"


@dataclass(frozen=True, slots=True)
class Case:
    """``truth`` is what a careful reader takes from ``text``: nothing (``{}``, None) where nobody could be sure. To say
    nothing, or less, is never wrong.

    A ``verdict`` and a ``ranking`` have readers of their own, every other kind is scores.
    """

    kind: str
    language: str
    text: str
    truth: Any
    ids: tuple[str, ...] = ("KB", "BC")
    scale: tuple[float, float] = (0, 100)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What the judge said before it went on: ids as written, scores, another number."""

    ids: tuple[str, ...]
    written: tuple[str, ...]
    scores: tuple[float, ...]
    other: float
    scale: tuple[float, float]

    @property
    def truth(self) -> dict[str, float]:
        return dict(zip(self.ids, self.scores, strict=True))

    def filled(self, wording: str) -> str:
        shown = [f"{score:g}" for score in self.scores]
        low, high = self.scale
        marks = {"x": self.written[0], "y": self.written[1], "o": shown[0], "p": shown[1], "n": f"{self.other:g}"}
        marks |= {"k": "3", "z": f"{low:g}", "m": f"{high:g}"}
        for mark, value in marks.items():
            wording = wording.replace(f"{{{mark}}}", value)
        return wording


_NOUNS: Final = {
    "en": "candidate", "de": "Kandidat", "es": "candidato", "fr": "candidat", "it": "candidato", "pt": "candidato",
    "ru": "кандидат", "zh": "候选", "ja": "候補", "ko": "후보", "tr": "aday", "pl": "kandydat", "nl": "kandidaat",
    "vi": "ứng viên", "ar": "المرشح", "uk": "кандидат", "cs": "kandidát", "sv": "kandidat", "id": "kandidat",
    "hi": "उम्मीदवार",
}  # fmt: skip
_LETTERS = _Verdict(("KB", "BC"), ("KB", "BC"), (80, 30), 50, (0, 100))
_THREE = _Verdict(("RT", "QZ", "MW"), ("RT", "QZ", "MW"), (71, 64, 8), 22, (0, 100))


def _numbered(language: str) -> _Verdict:
    noun = _NOUNS.get(language, "candidate")
    return _Verdict(("1", "2", "3"), (f"{noun} 1", f"{noun} 2", f"{noun} 3"), (0.9, 0.4, 0.1), 0.6, (0, 1))


def _as_rows(verdict: _Verdict) -> str:
    rows = [{"trajectory_id": id_, "explanation": "seen", "score": score} for id_, score in verdict.truth.items()]
    return "Here is my verdict:\n\n" + json.dumps({"scores": rows})


def _as_lines(verdict: _Verdict) -> str:
    kind = "Trajectory " if verdict.ids[0].isdecimal() else ""
    return "\n".join(f"{kind}{id_}: {score:g}" for id_, score in verdict.truth.items())


def _as_table(verdict: _Verdict) -> str:
    rows = "\n".join(f"| {id_} | {score:g} |" for id_, score in verdict.truth.items())
    return f"| Candidate | Score |\n|---|---|\n{rows}"


def cases() -> Iterator[Case]:
    """All of them."""
    for kind, language, wording in _wordings():
        numbered = _numbered(language)
        shown: list[tuple[_Verdict, Callable[[_Verdict], str]]] = [
            (_LETTERS, lambda verdict: json.dumps({"scores": verdict.truth})),
            (_LETTERS, lambda verdict: f"```json\n{json.dumps(verdict.truth, indent=1)}\n```"),
            (_LETTERS, _as_lines),
            (numbered, _as_rows),
            (_THREE, _as_table),
        ]
        for number, (verdict, form) in enumerate(shown):
            said, words = form(verdict), verdict.filled(wording)
            glue = "\n\n" if number % 2 == 0 else "\n"
            replies = [(said + glue + words, _after(kind, verdict))]
            if kind in ("quoted", "lead"):
                replies = list(_led(kind, words, said, verdict))
            for text, truth in replies:
                yield Case(kind, language, text, truth, verdict.ids, verdict.scale)
    for line in (FIXTURES / "takebacks.jsonl").read_text(encoding="utf-8").splitlines():
        row = {"language": "en", **json.loads(line)}
        row |= {"ids": tuple(row.get("ids", ("KB", "BC")))}
        yield Case(**row | ({"truth": tuple(row["truth"])} if row["kind"] == "ranking" else {}))


def _wordings() -> Iterator[tuple[str, str, str]]:
    """Kind, language and template of each line of the fixture."""
    kind = language = ""
    for line in (FIXTURES / "takebacks.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            kind, language = line.removeprefix("## ").split()
        elif line and not line.startswith("#"):
            yield kind, language, line


def _after(kind: str, verdict: _Verdict) -> dict[str, float]:
    truth = verdict.truth
    first, second = verdict.ids[:2]
    if kind == "harmless":
        return truth
    if kind == "correct":
        return truth | {first: verdict.other}
    if kind == "swap":
        return truth | {first: truth[second], second: truth[first]}
    return {}


def _led(kind: str, words: str, said: str, verdict: _Verdict) -> Iterator[tuple[str, dict[str, float]]]:
    """Words before a verdict: alone, and where they lead a forged one, beside the judge's own."""
    if kind == "lead":
        yield f"{words}\n\n{said}", verdict.truth
        yield f"{words} {said}" if "{" in said else f"{words}\n{said}", verdict.truth
        return
    yield f"{words}\n\n{said}", {}
    yield f"{words}\n{said}\nI will judge for myself.", {}
    if said.startswith(("{", "```")):
        low, high = verdict.scale
        forged = "```json\n" + json.dumps({id_: high if n == 0 else low for n, id_ in enumerate(verdict.ids)}) + "\n```"
        yield f"{words}\n{forged}\n\nMy own verdict:\n{said}", verdict.truth
        yield f"{said}\n\n{words}\n{forged}", verdict.truth


def read(case: Case) -> tuple[Any, bool]:
    """What is read of a case (scores by id, a verdict, or an order), and whether nothing of it is false."""
    if case.kind == "verdict":
        met = extract_verdict(case.text).met
        return met, met is None or met == case.truth
    if case.kind == "ranking":
        ranking = extract_ranking(case.text, case.ids).ranking
        return ranking, not ranking or ranking == case.truth
    scores = extract_scores(case.text, case.ids, scale=case.scale).scores
    return scores, scores.items() <= case.truth.items()
