"""Rows of the study's data sets as their authors publish them, and the rows of verl's that are made of them.

A function for each published form, named in ``catalogue.toml``. Pure. Not responsible for files (``preparation``) or
for what criteria mean (``rubric.dataset_standards``, which reads the rows that are written here).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import InputError
from calipers.types import Message
from calipers.verifiers.constraints import tagged_checker

Form: TypeAlias = Literal["rubric", "verif"]
"""``rubric``: a row has criteria with points. ``verif``: it has VerIF's checkers and functions as well."""

_BOXED: Final = "Reason step by step, and put the final answer in \\boxed{}."
_BOXED_LETTER: Final = "Reason step by step, and put the letter of the right option in \\boxed{}."
_POINTS: Final = 10.0
_OPTIONS: Final = "ABCD"


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A prompt of a data set. ``criteria`` have ``criterion``, ``points`` and ``tags``, as RuscaRL's rows have them.

    ``rules`` are VerIF's ``checkers`` and ``functions``, and ``constraints`` the wording of all of them.
    """

    id: str
    prompt: tuple[Message, ...]
    criteria: tuple[Mapping[str, Any], ...]
    answer: str = ""
    rules: Mapping[str, Sequence[str]] | None = None
    constraints: tuple[str, ...] = ()


def verl_row(row: StudyRow, *, index: int, data_set: str, ability: str, split: str, form: Form) -> dict[str, Any]:
    """Return the row of verl's training data for a row of a data set.

    In the form "verif", ``rubrics`` are only for the scaffold: rewards come from ``ground_truth``. Raises InputError
    for a row without what the form needs.
    """
    criteria, truth = row.criteria, row.answer
    if form == "verif":
        if row.rules is None:
            raise InputError("has no checkers and functions, which the form verif needs")
        criteria = tuple(_graded_by_judge(text, 1.0) for text in row.constraints)
        truth = json.dumps(row.rules, ensure_ascii=False)
    if not criteria:
        raise InputError("has no criteria that a judge could decide")
    return {
        "data_source": data_set,
        "prompt": [dict(message) for message in row.prompt],
        "ability": ability,
        "reward_model": {"style": "rubric", "ground_truth": truth, "rubrics": [dict(one) for one in criteria]},
        "extra_info": {"index": index, "id": row.id, "split": split},
    }


def hash_of_prompt(row: StudyRow) -> str:
    """Return a number, as text, that decides whether a data set's row is held out; equal prompts have the same one."""
    return sha256(json.dumps(row.prompt, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


# --- one function for each published form -----------------------------------------------------------------------------


def healthbench(row: Mapping[str, Any]) -> list[StudyRow]:
    """Return a row of HealthBench: a conversation, and physicians' criteria with points and tags."""
    criteria = [
        {
            "criterion": _text(one, "criterion"),
            "points": _number(one, "points"),
            "tags": [str(tag) for tag in one.get("tags") or ()],
        }
        for one in _objects(row, "rubrics")
    ]
    prompt = tuple(
        {"role": _text(message, "role"), "content": _text(message, "content")} for message in _objects(row, "prompt")
    )
    return [StudyRow(_id(row, "prompt_id"), prompt, tuple(criteria))]


def rubrics_as_rewards(row: Mapping[str, Any]) -> list[StudyRow]:
    """Return a row of Rubrics as Rewards.

    Weights are taken as they are: a pitfall reads "Does not mention X" and has a negative weight.
    """
    criteria = [
        {"criterion": _text(one, "description"), "points": _number(one, "weight"), "tags": _tags("llm")}
        for one in _objects(row, "rubric")
    ]
    question = _text(row, "question")
    return [StudyRow(_id(row, "id", question), _asked(question), tuple(criteria), str(row.get("reference_answer", "")))]


def research_qa(row: Mapping[str, Any]) -> list[StudyRow]:
    """Return a row of ResearchQA: a query, and questions that a good answer lets one say yes to."""
    criteria = [_graded_by_judge(_text(one, "rubric_item"), _POINTS) for one in _objects(row, "rubric")]
    query = _text(row, "query")
    return [StudyRow(_id(row, "id", query), _asked(query), tuple(criteria))]


def verinstruct(row: Mapping[str, Any]) -> list[StudyRow]:
    """Return a row of VerInstruct. Its criteria are the constraints that VerIF leaves to a judge, a point each."""
    prompt = _text(row, "prompt")
    checkers, functions = row.get("checkers"), row.get("functions")
    if not isinstance(checkers, list) or not isinstance(functions, list) or len(checkers) != len(functions):
        raise InputError("checkers, functions: they must be lists of equal length")
    tagged = [found for one in checkers if (found := tagged_checker(str(one))) is not None]
    soft = dict.fromkeys(text for tag, text in tagged if tag == "llm")
    rules = {"checkers": [str(one) for one in checkers], "functions": [str(one or "") for one in functions]}
    return [
        StudyRow(
            _id(row, "id", prompt),
            _asked(prompt),
            tuple(_graded_by_judge(text, 1.0) for text in soft),
            rules=rules,
            constraints=tuple(dict.fromkeys(text for _, text in tagged)),
        )
    ]


def mathematics(row: Mapping[str, Any]) -> list[StudyRow]:
    """Return a problem with an answer that code checks, as MATH-500 and MathArena publish them."""
    problem, answer = _text(row, "problem"), str(row.get("answer") or "").strip()
    if not answer:
        raise InputError("answer: there is none")
    name = next((key for key in ("unique_id", "problem_idx") if row.get(key) is not None), "id")
    return [StudyRow(_id(row, name, problem), _asked(f"{problem}\n\n{_BOXED}"), (_checked(answer),), answer)]


def multiple_choice(row: Mapping[str, Any]) -> list[StudyRow]:
    """Return a question of GPQA four times, with the right option at each place, so that a favoured place is no gain.

    The other options keep their order.
    """
    question = _text(row, "Question").strip()
    right = _text(row, "Correct Answer").strip()
    wrong = [_text(row, f"Incorrect Answer {number}").strip() for number in (1, 2, 3)]
    name = _id(row, "Record ID", question)
    made = []
    for place, letter in enumerate(_OPTIONS):
        options = [*wrong[:place], right, *wrong[place:]]
        listed = "\n".join(f"{one}) {option}" for one, option in zip(_OPTIONS, options, strict=True))
        asked = _asked(f"{question}\n\n{listed}\n\n{_BOXED_LETTER}")
        made.append(StudyRow(f"{name}-{letter}", asked, (_checked(letter),), letter))
    return made


READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[StudyRow]]]] = MappingProxyType({
    "healthbench": healthbench,
    "rubrics_as_rewards": rubrics_as_rewards,
    "research_qa": research_qa,
    "verinstruct": verinstruct,
    "mathematics": mathematics,
    "multiple_choice": multiple_choice,
})  # fmt: skip
"""The functions that read a data set's rows, by the name in ``catalogue.toml``."""


def _asked(text: str) -> tuple[Message, ...]:
    return ({"role": "user", "content": text},)


def _graded_by_judge(text: str, points: float) -> dict[str, Any]:
    return {"criterion": text, "points": points, "tags": _tags("llm")}


def _checked(answer: str) -> dict[str, Any]:
    tags = {"verifier": "rule", "function": "math_verify", "parameters": {"answer": answer}}
    return {"criterion": f"The final answer is {answer}.", "points": _POINTS, "tags": tags}


def _tags(verifier: str) -> dict[str, Any]:
    return {"verifier": verifier}


def _id(row: Mapping[str, Any], key: str, text: str = "") -> str:
    found = row.get(key)
    return str(found) if found is not None else sha256(text.encode()).hexdigest()[:16]


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{key}: it must be text, not {value!r:.40}" if key in row else f"{key}: it is missing")
    return value


def _number(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{key}: it must be a number, not {value!r:.40}")
    return float(value)


def _objects(row: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = row.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(one, Mapping) for one in value):
        raise InputError(f"{key}: it must be a list of objects")
    return value
