"""The criteria of published rubric data sets, by each set's own fields, turned into the fields of a rubric file.

One table row describes one data set. Not responsible for where a row may hold its criteria (``dataset_standards``), for
Rubrics as Rewards and DR Tulu, which share a form (``dataset_criteria``), or for checking criteria (``criteria``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from calipers.errors import InputError
from calipers.rubric.dataset_rules import turn_prompt

_Fields = dict[str, Any]
_REQUIREMENT: Final = re.compile(r"\s*(?:\d+[.)]|[*-])\s+(.+?)\s*\(importance:\s*(\d{1,3})\s*/\s*100\)\s*")
_PRINCIPLE: Final = re.compile(r"\s*(?:\d+[.)]|[*-])\s+(.+?)\s*\[(Hard Rule|Principle)\]\s*", re.IGNORECASE)
_INSTRUCTION_ID: Final = re.compile(r"[a-z_]+:[a-z_0-9]+")
_RUSCARL_FUNCTIONS: Final = ("math_verify", "word_count_range")
_BANDS: Final = ("1-2", "3-4", "5-6", "7-8", "9-10")
PROFBENCH_POINTS: Final[Mapping[str, float]] = {"critical": 4, "major": 3, "minor": 2, "additional": 1}
"""The points of each word in ProfBench's ``criterion_weight``. Source: NVlabs/ProfBench, ``score_report_generation``.
"""


@dataclass(frozen=True, slots=True)
class Form:
    """A data set's criteria: the ``keys`` of a row that may hold them, and the ``fields`` every criterion has.

    ``read`` makes a criterion of a rubric file from one of them.
    """

    name: str
    keys: tuple[str, ...]
    fields: tuple[str, ...]
    read: Callable[[Mapping[str, Any]], _Fields]


def _healthbench_professional(one: Mapping[str, Any]) -> _Fields:
    return {"text": one["criterion_text"], "points": one["points"]}


def _research_rubrics(one: Mapping[str, Any]) -> _Fields:
    return {"text": one["criterion"], "points": one["weight"], "tags": [f"axis:{one['axis']}"]}


def _prbench(one: Mapping[str, Any]) -> _Fields:
    stated = one["annotations"]
    if not isinstance(stated, Mapping) or not isinstance(stated.get("weight_class"), str):
        raise InputError("PRBench's annotations need a 'weight_class'")
    weight = f"{stated['weight_class'].replace(' ', '_')}_weight"
    if stated.get(weight) is None:
        raise InputError(f"its weight_class is {stated['weight_class']!r}, but its annotations have no {weight!r}")
    names = {"category": "criteria_category", "field": "field_for_category"}
    tags = [f"{tag}:{stated[key]}" for tag, key in names.items() if stated.get(key)]
    own = {"id": one["id"]} if one.get("id") else {}
    return {"text": one["title"], "points": stated[weight], "tags": tags, **own}


def _profbench(one: Mapping[str, Any]) -> _Fields:
    word = str(one["criterion_weight"])
    if word.lower() not in PROFBENCH_POINTS:
        raise InputError(f"criterion_weight {word!r} is unknown; known: Critical, Major, Minor, Additional")
    kinds = one.get("criterion_type") or []
    tags = [f"type:{kind}" for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return {"text": one["criterion_description"], "points": PROFBENCH_POINTS[word.lower()], "tags": tags}


def _writingbench(one: Mapping[str, Any]) -> _Fields:
    bands = [f"{band}: {one[band]}" for band in _BANDS if one.get(band)]
    text = "\n".join([f"{one['name']}: {one['criteria_description']}", *bands])
    levels = {str(number): number / 10 for number in range(1, 11)}
    return {"text": text, "tags": [f"name:{one['name']}"], "levels": levels}


FORMS: Final[tuple[Form, ...]] = (
    Form("HealthBench Professional", ("rubric_items",), ("criterion_text", "points"), _healthbench_professional),
    Form("ResearchRubrics", ("rubric", "rubrics"), ("criterion", "axis", "weight"), _research_rubrics),
    Form("PRBench", ("rubric", "rubrics"), ("title", "annotations"), _prbench),
    Form("ProfBench", ("rubric", "rubrics"), ("criterion_description", "criterion_weight"), _profbench),
    Form("WritingBench", ("checklist",), ("name", "criteria_description"), _writingbench),
)
FORM_KEYS: Final = frozenset({"rubric_items", "checklist", "decomposed_questions", "requirements"})
"""Keys of a row that hold criteria in one data set only. A value there in another form is not read as criteria."""


def criteria_in_form(key: str, value: Any) -> list[Any] | None:
    """Return the criteria that one of ``FORM_KEYS`` holds in its data set's form; None for any other value.

    ``decomposed_questions`` are InFoBench's, a list of questions; ``requirements`` are those of RLCF's WildChecklists,
    lines that end in "(importance: 90/100)", which become the points. Raises InputError naming the criterion and field
    that a known form lacks.
    """
    if key == "decomposed_questions":
        questions = list(value) if isinstance(value, list | tuple) else []
        if not any(isinstance(one, str) for one in questions):
            return None
        bad = next((place for place, one in enumerate(questions, start=1) if not _is_text(one)), None)
        if bad is not None:
            raise InputError(f"question {bad} must be text that is not empty, not {str(questions[bad - 1])[:60]!r}")
        return questions
    if key == "requirements":
        return _numbered(value, _REQUIREMENT, _requirement, "1) ... (importance: 90/100)")
    found = known_form(key, value) if isinstance(value, list | tuple) else None
    return None if found is None else in_known_form(value, found)


def principles(value: str) -> list[Any] | None:
    """Return OpenRubrics' criteria: lines that end in [Hard Rule] or [Principle], which becomes a tag. None for others.

    All of them are worth one point: the data set states no weights. Raises InputError naming a line without either.
    """
    return _numbered(
        value, _PRINCIPLE, lambda text, kind: {"text": text, "tags": [f"kind:{kind.lower()}"]}, "1. ... [Hard Rule]"
    )


def _requirement(text: str, points: str) -> _Fields:
    if int(points) > 100:
        raise InputError(f"an importance is at most 100, not {points}: {text[:80]!r}")
    return {"text": text, "points": float(points)}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _numbered(value: Any, form: re.Pattern[str], read: Callable[[str, str], _Fields], shown: str) -> list[Any] | None:
    """Return a criterion for each line of a text; None if no line has the form, which is ``shown`` in errors.

    Raises InputError naming a line that is not blank and has another form.
    """
    lines = enumerate(value.split("\n") if isinstance(value, str) else (), start=1)
    found = [(number, form.fullmatch(line), line) for number, line in lines if line.strip()]
    if not any(match for _, match, _ in found):
        return None
    made = []
    for number, match, line in found:
        if match is None:
            raise InputError(f"line {number} is not of the form {shown!r}, as others are: {line.strip()[:80]!r}")
        made.append(read(match[1], match[2]))
    return made


def known_form(key: str, listed: Sequence[Any]) -> Form | None:
    """Return the form whose fields a criterion of a list has, under a row's ``key`` (a place ends in it).

    So that a misspelt field is not taken for another form, it may be one letter or two off.
    """
    name = key.rpartition(".")[2].strip("'")
    objects = [one for one in listed if isinstance(one, Mapping)]
    mine = [form for form in FORMS if name in form.keys]
    for has in (_has_fields, _nearly_has_fields):
        if found := next((form for form in mine if any(has(one, form) for one in objects)), None):
            return found
    return None


def _has_fields(one: Mapping[str, Any], form: Form) -> bool:
    return all(field in one for field in form.fields)


def _nearly_has_fields(one: Mapping[str, Any], form: Form) -> bool:
    """Whether a criterion has all fields of a form but one, which it has misspelt."""
    lacking = [field for field in form.fields if field not in one]
    return len(lacking) == 1 < len(form.fields) and misspelt(lacking[0], one, form.fields) is not None


def misspelt(field: str, one: Mapping[str, Any], known: Collection[str]) -> str | None:
    """Return the key of a criterion that probably stands for ``field``, which it lacks; None if none does."""
    return next((str(key) for key in one if key not in known and nearest_field(str(key), (field,)) is not None), None)


def nearest_field(key: str, known: Collection[str]) -> str | None:
    """Return the field of a criterion that an unknown ``key`` probably means; None if there is none."""
    folded = key.strip().casefold()
    if folded in known:
        return folded
    swapped = next((one for one in _neighbours_swapped(folded) if one in known), None)
    return swapped or next(iter(get_close_matches(folded, known, n=1, cutoff=0.8)), None)


def _neighbours_swapped(word: str) -> Iterator[str]:
    """Yield a word with two neighbouring letters swapped, at every place of a word of usual length."""
    for at in range(min(len(word), 40) - 1):
        yield f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"


def in_known_form(listed: Sequence[Any], form: Form) -> list[Any]:
    """Return a data set's criteria in the fields of a rubric file. Raises InputError naming criterion and field."""
    made = []
    for place, one in enumerate(listed, start=1):
        lacking = [name for name in form.fields if not isinstance(one, Mapping) or one.get(name) is None]
        if lacking:
            near = misspelt(lacking[0], one, form.fields) if isinstance(one, Mapping) else None
            hint = "" if near is None else f"; is {near!r} meant for {lacking[0]!r}?"
            raise InputError(
                f"criterion {place}: it lacks {', '.join(lacking)}, which criteria of {form.name} have{hint}"
            )
        try:
            made.append(form.read(one))
        except InputError as error:
            raise InputError(f"criterion {place}: {error}") from None
    return made


def with_instruction(criterion: Any) -> Any:
    """Return RubricHub's criterion whose text is an IFEval instruction id with the rule that decides it.

    Its tags name the rule's class (``CommaChecker``) and its arguments as JSON; its text is the id
    (``punctuation:no_comma``). Any other criterion is returned unchanged.
    """
    tags = criterion.get("tags") if isinstance(criterion, Mapping) else None
    if not isinstance(tags, Mapping) or tags.get("verifier") != "rule" or tags.get("function") in _RUSCARL_FUNCTIONS:
        return criterion
    text = criterion.get("criterion")
    if not isinstance(text, str) or not _INSTRUCTION_ID.fullmatch(text.strip()):
        return criterion
    kept = {key: item for key, item in tags.items() if key not in ("verifier", "function", "parameters")}
    rule = {"ifeval": {"instruction_id": text.strip(), "kwargs": _arguments(tags.get("parameters"))}}
    return {**criterion, "tags": kept, "rule": rule}


def _arguments(given: Any) -> dict[str, Any]:
    """Return a RubricHub rule's arguments, which are an object or its JSON text."""
    if isinstance(given, str) and given.strip():
        try:
            given = json.loads(given)
        except ValueError as error:
            raise InputError(f"the rule's parameters are not JSON: {error}") from None
    return {key: item for key, item in given.items() if item is not None} if isinstance(given, Mapping) else {}


def row_prompt(row: Mapping[str, Any]) -> Any:
    """Return a data set's prompt, as text or a list of messages, from whichever field holds it; None if none does.

    PRBench's turns (``prompt_0``, ``response_0``, ``prompt_1``, ...) become messages, each prompt after its reference
    texts. InFoBench's ``input`` follows its ``instruction`` after a blank line. Of Multi-IF's turns it is the first.
    """
    if (first := turn_prompt(row, 1)) is not None:
        return first
    conversation = row.get("conversation")
    if isinstance(conversation, Mapping) and conversation.get("messages"):
        return conversation["messages"]
    if isinstance(row.get("prompt_0"), str):
        return _turns(row)
    for key in ("query", "messages"):
        if row.get(key):
            return row[key]
    parts = [row.get(key) for key in ("instruction", "input")]
    texts = [part for part in parts if isinstance(part, str) and part.strip()]
    return "\n\n".join(texts) if isinstance(parts[0], str) and texts else None


def _turns(row: Mapping[str, Any]) -> list[dict[str, str]]:
    made: list[dict[str, str]] = []
    number = 0
    while isinstance(prompt := row.get(f"prompt_{number}"), str) and prompt.strip():
        references = row.get(f"reference_texts_{number}")
        texts = references if isinstance(references, list | tuple) else ()
        shown = [f"Reference text {place}:\n{text}" for place, text in enumerate(texts, start=1)]
        made.append({"role": "user", "content": "\n\n".join([*shown, prompt])})
        answer = row.get(f"response_{number}")
        number += 1
        if isinstance(answer, str) and answer.strip() and row.get(f"prompt_{number}"):
            made.append({"role": "assistant", "content": answer})
    return made
