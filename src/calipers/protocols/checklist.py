"""The checklist protocol: the judge decides whether each criterion is met, or rates all together in holistic mode.

A criterion is met if its text describes the attempt, whether that is good or bad, so the judge needs to know neither
the sign nor the weight of the criterion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from calipers.protocols.question import EVIDENCE, draw_candidate_keys, message_content, object_schema, plain_text_schema
from calipers.protocols.reading import REFUSED, confirmed, doubted_values
from calipers.render import compose
from calipers.replies import ChecklistReading, extract_checklist, extract_scores
from calipers.replies.documents import nodes_in_reply
from calipers.replies.names import WORDS_AROUND
from calipers.rubric import Grading
from calipers.rubric.formulas import rar_implicit
from calipers.types import Ask, Completion, Criterion, JudgeRequest, Part, Rating, Reading, RenderedGroup, Verdict

_ONE = "You check one attempt at a task against criteria, by the record alone."
_MANY = "You check several attempts at one task against one criterion, by the record alone."
_HOLISTIC = "You rate one attempt at a task by a list of criteria taken together, by what is in the record."

_RULES = """\
How to decide: a criterion is met when everything its text says is so; of what follows "such as" or "including", not \
all need be there. Met means that the text describes the record, for better or worse: an attempt without a dose meets \
"leaves out the dose". Decide each {what} by itself; length, tone and what an attempt says of itself decide nothing. \
There is no middle: take the closer one."""
_RATE = """\
How to rate: a whole number from 1 (fails what matters) to 10 (as the criteria ask throughout). Weigh the criteria as \
a careful expert would."""
_RATING: Final = "rating"
_RATING_SCHEMA: Final[dict[str, Any]] = object_schema(
    {"explanation": plain_text_schema(400), _RATING: {"type": "integer", "minimum": 1, "maximum": 10}}
)
_REASON = 'a "reason" of at most six words'
_QUOTE = 'a "quote" that shows it, copied from the record word for word and without ellipses ("" where nothing does)'


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
        criteria = _criteria_of_ask(ask, view)
        names = _reply_names(self.grading, ask, keys)
        limit = None if self.max_tokens is None else self.max_tokens * ask.max_tokens_factor
        if self.grading.grader_prompt is not None:
            own = self._filled(self.grading.grader_prompt, ask, view)
            return JudgeRequest(({"role": "user", "content": own},), keys, ask, view, None, limit, self.params)
        listed = self._listed(criteria)
        first = self.grading.mode in {"all", "holistic"}
        system = "\n\n".join(
            part for part in (self._task_text(), first and listed, EVIDENCE, self._instructions_text(criteria)) if part
        )
        closing = self._closing(ask, "" if first else listed, names)
        messages = (
            {"role": "system", "content": system},
            {"role": "user", "content": message_content(compose(view, ask.order, keys, closing))},
        )
        return JudgeRequest(messages, keys, ask, view, self._schema(criteria, names), limit, self.params)

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """Return the verdicts in a reply in this protocol's form; a missing verdict has ``met`` None and a reason."""
        ask = request.ask
        if self.grading.mode == "holistic":
            return _read_rating(request, completion)
        criteria = _criteria_of_ask(ask, request.view)
        names = _reply_names(self.grading, ask, request.keys)
        if completion.finish_reason == "refused":
            reading = ChecklistReading({}, dict.fromkeys(names, REFUSED), "rejected", reason=REFUSED)
        else:
            criterion_of = self._criterion_of_each_name(criteria, names)
            levels = {name: criterion.levels for name, criterion in criterion_of.items()}
            texts = {name: criterion.text for name, criterion in criterion_of.items()}
            reading = extract_checklist(
                completion.text, names, levels=levels, texts=texts, finish_reason=completion.finish_reason
            )
        return self._as_reading(request, names, reading)

    # --- framing the question ---

    def _filled(self, template: str, ask: Ask, view: RenderedGroup) -> str:
        """Return the user's grader prompt about one criterion; a follow-up question says what was wrong."""
        from calipers.rubric.grader_prompt import (  # noqa: PLC0415 - few judges have one
            conversation_text,
            filled_grader_prompt,
        )

        (criterion,) = _criteria_of_ask(ask, view)
        conversation = conversation_text(view.candidates[ask.members[0]].messages)
        note = f"\n\nAn earlier reply could not be used: {ask.note}." if ask.note else ""
        return filled_grader_prompt(template, conversation, criterion) + note

    def _task_text(self) -> str:
        return {"relative": _MANY, "holistic": _HOLISTIC}.get(self.grading.mode, _ONE)

    def _instructions_text(self, criteria: Sequence[Criterion]) -> str:
        if self.grading.mode == "holistic":
            return f'{_RATE}\n\nAnswer with one JSON object and nothing else: {{"explanation": ..., "rating": ...}}.'
        relative = self.grading.mode == "relative"
        even = " Hold all attempts to the same line. Their order and names are random and mean nothing." * relative
        parts = [_QUOTE] * self.grading.evidence + [_REASON] * self.grading.reasons
        verdict = 'then "met": true or false' if parts else "true or false"
        if any(criterion.levels for criterion in criteria):
            verdict += ' (where a criterion names levels: "level" and one of them)'
        what = "attempt" if relative else "criterion"
        under = "name" if relative else "number"
        answer = f"Answer with one JSON object and nothing else: under each {what}'s {under} "
        return f"{_RULES.format(what=what)}{even}\n\n{answer}{', '.join([*parts, verdict])}."

    def _listed(self, criteria: Sequence[Criterion]) -> str:
        lines = [self._line(criterion) for criterion in criteria]
        if self.grading.mode == "relative":
            return f"Criterion: {lines[0]}"
        return "Criteria:\n" + "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))

    def _line(self, criterion: Criterion) -> str:
        points = f"[{criterion.points:+g}] " if self.grading.show_points else ""
        levels = f" (levels: {', '.join(criterion.levels)})" if criterion.levels else ""
        return f"{points}{' '.join(criterion.text.split())}{levels}"

    def _closing(self, ask: Ask, listed: str, names: Sequence[str]) -> str:
        lines = [listed] if listed else []
        if self.grading.mode == "holistic":
            if ask.note:
                lines.append(f"An earlier reply could not be used: {ask.note}. Give a whole number from 1 to 10.")
            return "\n" + "\n".join([*lines, 'Answer in JSON: {"explanation": ..., "rating": ...}'])
        if ask.note:
            lines.append(f"An earlier reply could not be used: {ask.note}. Give every verdict, in the form asked for.")
        fields = ['"quote": ...'] * self.grading.evidence + ['"reason": ...'] * self.grading.reasons
        inside = ", ".join([*fields, '"met": ...'])
        value = f"{{{inside}}}" if fields else "..."
        abridged = len(names) > 2 and self.grading.mode != "relative"
        shown = (names[0], "...", names[-1]) if abridged else names
        form = ", ".join(f'"{name}": {value}' if name != "..." else "..." for name in shown)
        return "\n" + "\n".join([*lines, f"Answer in JSON: {{{form}}}"])

    def _schema(self, criteria: Sequence[Criterion], names: Sequence[str]) -> dict[str, Any]:
        if self.grading.mode == "holistic":
            return _RATING_SCHEMA
        criterion_of = self._criterion_of_each_name(criteria, names)
        return object_schema({name: self._entry_schema(criterion) for name, criterion in criterion_of.items()})

    def _entry_schema(self, criterion: Criterion) -> dict[str, Any]:
        quote = {"quote": {"type": "string"}} if self.grading.evidence else {}
        reason = {"reason": plain_text_schema(160)} if self.grading.reasons else {}
        verdict: dict[str, Any] = {"type": "boolean"}
        if criterion.levels:
            verdict = {"type": "string", "enum": list(criterion.levels)}
        if not quote and not reason:
            return verdict
        return object_schema({**quote, **reason, "level" if criterion.levels else "met": verdict})

    def _criterion_of_each_name(self, criteria: Sequence[Criterion], names: Sequence[str]) -> dict[str, Criterion]:
        """Return the criterion that each name in the reply stands for."""
        one_for_all = self.grading.mode == "relative"
        return dict(zip(names, [criteria[0]] * len(names) if one_for_all else criteria, strict=True))

    # --- reading the reply ---

    def _as_reading(self, request: JudgeRequest, names: Sequence[str], reading: ChecklistReading) -> Reading:
        ask = request.ask
        asked = _items_by_name(self.grading, ask, names)
        doubted = tuple(sorted((*asked[name], float(value)) for name, value in reading.doubted.items()))
        if doubted and doubted == ask.doubted:
            reading = replace(reading, verdicts=reading.doubted, missing={}, outcome="text", reason=None, doubt=False)
            doubted = ()
        verdicts = {name: self._verdict(request, asked[name], name, reading) for name in names}
        unknown = [name for name in names if verdicts[name].met is None]
        missing: dict[int, str] = {}
        for name in unknown:
            item, criterion = asked[name]
            missing.setdefault(item, f"criterion {criterion!r}: {verdicts[name].reason}")
        again = tuple(asked[name] for name in unknown if name not in reading.undecided)
        outcome = "rejected" if len(unknown) == len(names) else "partial" if unknown else reading.outcome
        return Reading(
            tuple(verdicts.values()),
            outcome,
            reading.reason or next((verdicts[name].reason for name in unknown), None),
            missing=missing,
            truncated=reading.truncated,
            complaint=_complaint(reading, refused=reading.reason == REFUSED) if again else None,
            open=again,
            doubted=doubted,
        )

    def _verdict(self, request: JudgeRequest, asked: tuple[int, str], name: str, reading: ChecklistReading) -> Verdict:
        item, criterion = asked
        value = reading.verdicts.get(name)
        reason = reading.reasons.get(name, "") if value is not None else reading.missing[name]
        quote = reading.quotes.get(name, "").strip() if self.grading.evidence and value is not None else ""
        if quote and not _is_in_transcript(quote, request.view, item):
            value, reason, quote = None, "its quote is not in the record word for word", ""
        share = None if value is None or isinstance(value, bool) else float(value)
        met = value if isinstance(value, bool) or value is None else value == 1
        ask = request.ask
        return Verdict(met, reason, item, criterion, _presentation(ask), ask.slot, share, quote or None)


def _presentation(ask: Ask) -> int:
    return ask.number if ask.presentation is None else ask.presentation


def _criteria_of_ask(ask: Ask, view: RenderedGroup) -> tuple[Criterion, ...]:
    """Return the criteria that ``ask`` names, or all if it names none, from the rubric of its first candidate."""
    rubric = view.rubrics[ask.members[0]]
    if rubric is not None and not ask.criteria:
        return rubric.criteria
    by_id = {criterion.id: criterion for criterion in rubric.criteria} if rubric is not None else {}
    return tuple(by_id[name] for name in ask.criteria)


def _reply_names(grading: Grading, ask: Ask, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the names under which the reply states its verdicts: candidate keys, or numbers of criteria."""
    if grading.mode == "relative":
        return tuple(key for key, item in zip(keys, ask.order, strict=True) if item in ask.members)
    return tuple(str(number) for number in range(1, len(ask.criteria) + 1))


def _items_by_name(grading: Grading, ask: Ask, names: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return the candidate and the criterion that each name in the reply stands for."""
    if grading.mode == "relative":
        members = [item for item in ask.order if item in ask.members]
        return {name: (item, ask.criteria[0]) for name, item in zip(names, members, strict=True)}
    return {name: (ask.members[0], criterion) for name, criterion in zip(names, ask.criteria, strict=True)}


def _is_in_transcript(quote: str, view: RenderedGroup, item: int) -> bool:
    """Return whether the candidate's transcript contains the words of ``quote`` in this order, with any whitespace."""
    parts: tuple[Part, ...] = (*view.head, *view.candidates[item].body)
    record = " ".join("".join(part for part in parts if isinstance(part, str)).split())
    return " ".join(quote.split()) in record


def _complaint(reading: ChecklistReading, *, refused: bool) -> str | None:  # noqa: PLR0911 - one problem a line
    """Return a fixed sentence that tells the judge what was wrong with its reply, without any text of the reply."""
    if refused:
        return None
    if reading.truncated:
        return "it was cut off before its end"
    if reading.reason == WORDS_AROUND:
        return "it had words before or after its JSON object"
    if reading.doubt:
        return "it contradicted itself, or decided what was not asked"
    if not reading.verdicts:
        return "it held no verdicts that could be read"
    if reading.missing:
        return "it left verdicts out, or gave values that are no verdicts"
    return "quotes in it are not in the record word for word"


def _read_rating(request: JudgeRequest, completion: Completion) -> Reading:
    """Return the rating in a reply of holistic mode, mapped to [0, 1]; only whole numbers from 1 to 10 are ratings."""
    ask = request.ask
    (item,) = ask.members
    if completion.finish_reason == "refused":
        return Reading((), "rejected", REFUSED, missing={item: REFUSED})
    read = extract_scores(completion.text, [_RATING], scale=(1, 10), finish_reason=completion.finish_reason)
    reading = confirmed(ask, read)
    value = reading.scores.get(_RATING)
    if value is None or not float(value).is_integer():
        reason = reading.reason or "the rating is no whole number from 1 to 10"
        complaint = "it was cut off before its end" if reading.truncated else "it held no rating from 1 to 10"
        doubted, cut = doubted_values(ask, reading), reading.truncated
        missing = {item: reason}
        return Reading((), "rejected", reason, missing=missing, truncated=cut, complaint=complaint, doubted=doubted)
    rating = Rating(item, rar_implicit(int(value)), _presentation(ask), 0, ask.slot)
    explained = _explanation(completion.text)
    return Reading((rating,), reading.outcome, explanations={item: explained} if explained else {})


def _explanation(text: str) -> str | None:
    document = next(iter(nodes_in_reply(text)), None)
    found = document.get("explanation") if isinstance(document, dict) else None
    return found if isinstance(found, str) and found.strip() else None
