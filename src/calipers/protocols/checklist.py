"""The checklist protocol: the judge decides whether each criterion is met.

A criterion is met if its text describes the attempt, whether that is good or bad, so the judge needs to know neither
the sign nor the weight of the criterion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calipers.protocols.question import EVIDENCE, draw_candidate_keys, message_content, object_schema, plain_text_schema
from calipers.protocols.reading import REFUSED
from calipers.render import compose
from calipers.replies import ChecklistReading, extract_checklist
from calipers.replies.names import WORDS_AROUND
from calipers.rubric import Grading
from calipers.types import Ask, Completion, Criterion, JudgeRequest, Message, Reading, RenderedGroup, Verdict

_ONE = "You check one attempt at a task against criteria, by the record alone."
_MANY = "You check several attempts at one task against one criterion, by the record alone."

_RULES = """\
How to decide: a criterion is met when everything its text says is so; of what follows "such as" or "including", not \
all need be there. Met means that the text describes the record, for better or worse: an attempt without a dose meets \
"leaves out the dose". Decide each {what} by itself; length, tone and what an attempt says of itself decide nothing. \
There is no middle: take the closer one."""
_RELATIVE_RULE = " Hold all attempts to the same line. Their order and names are random and mean nothing."
_REASON = 'a "reason" of at most six words, '


@dataclass(frozen=True, slots=True)
class Checklist:
    """Frames questions about criteria, and reads a Verdict from the reply for each criterion and candidate asked about.

    ``max_tokens`` bounds the reply, reasoning included, and grows with ``Ask.max_tokens_factor``.
    """

    grading: Grading = field(default_factory=Grading)
    max_tokens: int | None = 8192
    params: Mapping[str, Any] = field(default_factory=dict)

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest:
        """Return this protocol's question for ``ask``.

        It begins with text that other questions share, for prefix caches. If all criteria are asked about at once, the
        criteria come first, otherwise the transcript. Keys are drawn from the content alone, so that the question stays
        the same when other criteria are edited.
        """
        keys = draw_candidate_keys(view, len(ask.order), f"grade {_presentation(ask)}")
        limit = None if self.max_tokens is None else self.max_tokens * ask.max_tokens_factor
        messages: tuple[Message, ...]
        if self.grading.grader_prompt is not None:
            filled, schema = _filled_grader_prompt(self.grading.grader_prompt, ask, view), None
            messages = ({"role": "user", "content": filled},)
        else:
            names = list(self._asked(ask, keys))
            listed = self._listed(ask, view)
            task = _MANY if self.grading.mode == "relative" else _ONE
            first = [listed] if self.grading.mode == "all" else []
            closing = self._closing([] if first else [listed], ask.note, names)
            messages = (
                {"role": "system", "content": "\n\n".join([task, *first, EVIDENCE, *self._instructions()])},
                {"role": "user", "content": message_content(compose(view, ask.order, keys, closing))},
            )
            entry: dict[str, Any] = {"type": "boolean"}
            if self.grading.reasons:
                entry = object_schema({"reason": plain_text_schema(160), "met": entry})
            schema = object_schema(dict.fromkeys(names, entry))
        return JudgeRequest(messages, keys, ask, view, schema, limit, self.params)

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """Return the verdicts in a reply in this protocol's form; a missing verdict has ``met`` None and a reason."""
        ask = request.ask
        asked = self._asked(ask, request.keys)
        if completion.finish_reason == "refused":
            reading = ChecklistReading({}, dict.fromkeys(asked, REFUSED), "rejected", reason=REFUSED)
        else:
            known = _criteria_by_id(ask, request.view)
            texts = {name: known[criterion].text for name, (_, criterion) in asked.items()}
            finish = completion.finish_reason
            reading = extract_checklist(completion.text, list(asked), texts=texts, finish_reason=finish)
        doubted = tuple(sorted((*asked[name], float(value)) for name, value in reading.doubted.items()))
        if doubted and doubted == ask.doubted:
            reading = replace(reading, verdicts=reading.doubted, missing={}, outcome="text", reason=None, doubt=False)
            doubted = ()
        verdicts, missing = [], dict[int, str]()
        for name, (item, criterion) in asked.items():
            met = reading.verdicts.get(name)
            reason = reading.reasons.get(name, "") if met is not None else reading.missing[name]
            verdicts.append(Verdict(met, reason, item, criterion, _presentation(ask), ask.slot))
            if met is None:
                missing.setdefault(item, f"criterion {criterion!r}: {reason}")
        again = tuple(asked[name] for name in reading.missing if name not in reading.undecided)
        return Reading(
            tuple(verdicts),
            reading.outcome,
            reading.reason or next(iter(reading.missing.values()), None),
            missing=missing,
            truncated=reading.truncated,
            complaint=_complaint(reading) if again else None,
            open=again,
            doubted=doubted,
        )

    def _asked(self, ask: Ask, keys: Sequence[str]) -> dict[str, tuple[int, str]]:
        """Return the candidate and the criterion of each name in the reply: a candidate's key, or a number."""
        if self.grading.mode == "relative":
            shown = zip(keys, ask.order, strict=True)
            return {key: (item, ask.criteria[0]) for key, item in shown if item in ask.members}
        return {str(number): (ask.members[0], name) for number, name in enumerate(ask.criteria, start=1)}

    def _instructions(self) -> list[str]:
        relative = self.grading.mode == "relative"
        unit, under = ("attempt", "name") if relative else ("criterion", "number")
        verdict = f'{_REASON}then "met": true or false' if self.grading.reasons else "true or false"
        return [
            _RULES.format(what=unit) + _RELATIVE_RULE * relative,
            f"Answer with one JSON object and nothing else: under each {unit}'s {under} {verdict}.",
        ]

    def _listed(self, ask: Ask, view: RenderedGroup) -> str:
        """Return the criteria that ``ask`` is about as text."""
        known = _criteria_by_id(ask, view)
        lines = []
        for criterion in (known[name] for name in ask.criteria):
            points = f"[{criterion.points:+g}] " if self.grading.show_points else ""
            lines.append(f"{points}{' '.join(criterion.text.split())}")
        if self.grading.mode == "relative":
            return f"Criterion: {lines[0]}"
        return "Criteria:\n" + "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))

    def _closing(self, lines: list[str], note: str, names: Sequence[str]) -> str:
        """Return the end of the question, after the transcript: ``lines``, and the form of the reply."""
        if note:
            lines.append(f"An earlier reply could not be used: {note}. Give every verdict, in the form asked for.")
        value = '{"reason": ..., "met": ...}' if self.grading.reasons else "..."
        entries = [f'"{name}": {value}' for name in names]
        if len(names) > 2 and self.grading.mode != "relative":
            entries[1:-1] = ["..."]
        return "\n" + "\n".join([*lines, f"Answer in JSON: {{{', '.join(entries)}}}"])


def _presentation(ask: Ask) -> int:
    return ask.number if ask.presentation is None else ask.presentation


def _criteria_by_id(ask: Ask, view: RenderedGroup) -> Mapping[str, Criterion]:
    """Return the criteria of the first candidate that ``ask`` is about."""
    rubric = view.rubrics[ask.members[0]]
    return {} if rubric is None else {criterion.id: criterion for criterion in rubric.criteria}


def _filled_grader_prompt(template: str, ask: Ask, view: RenderedGroup) -> str:
    """Return the user's grader prompt about one criterion; a follow-up question says what was wrong."""
    from calipers.rubric.grader_prompt import conversation_text, filled_grader_prompt  # noqa: PLC0415 - few have one

    (criterion,) = ask.criteria
    conversation = conversation_text(view.candidates[ask.members[0]].messages)
    note = f"\n\nAn earlier reply could not be used: {ask.note}." if ask.note else ""
    return filled_grader_prompt(template, conversation, _criteria_by_id(ask, view)[criterion]) + note


def _complaint(reading: ChecklistReading) -> str | None:
    """Return a fixed sentence that tells the judge what was wrong with its reply, without any text of the reply."""
    if reading.reason == REFUSED:
        return None
    if reading.truncated:
        return "it was cut off before its end"
    if reading.reason == WORDS_AROUND:
        return "it had words before or after its JSON object"
    if reading.doubt:
        return "it contradicted itself, or decided what was not asked"
    if not reading.verdicts:
        return "it held no verdicts that could be read"
    return "it left verdicts out, or gave values that are no verdicts"
