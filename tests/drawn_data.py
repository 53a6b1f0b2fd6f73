"""What foreign data is read as: rows, rubrics, standards and rules, as plain data without wording."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any, get_args

from answers import answered, told
from calipers.inputs import as_group, as_rubric_row
from calipers.rubric.criteria import as_rubric, criteria_as_text
from calipers.rubric.dataset_standards import read_standards, text_of_reference, without_rubrics
from calipers.rubric.scaffold import Schedule, scaffolded
from calipers.rubric.tag_scores import dataset_score
from calipers.rubric.unused_standards import unused_standards
from calipers.types import Rubric
from calipers.verifiers import read_constraints, verifier_from
from calipers.verifiers.constraints import RulesAs, own_constraints

_KEY = re.compile(r"'[\w.]+'")


def outcome(given: Any) -> Any:
    """What ``[name of a reader, value]`` is read as. An error by its class is up to the caller."""
    name, value = given
    return json.loads(json.dumps(READERS[name](value), default=repr, sort_keys=True))


def _rubric_row(value: Any) -> Any:
    row = as_rubric_row(value, 7)
    positive = as_rubric_row(value, pitfalls="positive").rubric
    return [row.row, row.id, row.prompt, row.rubric.to_dict(), row.extra, None if positive == row.rubric else "differ"]


def _standards(value: Any) -> Any:
    found = read_standards(value)
    rubric = found.rubric.to_dict() if isinstance(found.rubric, Rubric) else found.rubric
    others = [[one.place, one.value] if one is not None else None for one in (found.rules, found.reference)]
    told_ = None if found.reference is None else text_of_reference(found.reference.value)
    return [rubric, found.rubric_place, *others, told_, read_standards(value, rubric=False).rubric_place]


def _rubric(value: Any) -> Any:
    rubric = as_rubric(value)
    return [rubric.to_dict(), criteria_as_text(rubric), as_rubric(rubric.to_dict()) == rubric]


def _unused(value: Any) -> Any:
    group = as_group(value)
    notes = [unused_standards(group, checklist=checklist) for checklist in (False, True)]
    own = own_constraints(group, rules="ignore")
    return [*([_KEY.findall(note) for note in found] for found in notes), own and len(own.soft),
            len(without_rubrics(group).extra)]  # fmt: skip


def _constraints(value: Any) -> Any:
    found: list[Any] = []
    ways: tuple[RulesAs, ...] = get_args(RulesAs)
    for how in ways:
        try:
            made = read_constraints(value, instruction="Say yes.", rules=how)
        except Exception as error:  # noqa: BLE001 - by its class
            found.append(type(error).__name__)
        else:
            found.append([len(made.rules), made.soft, made.judged, len(made.skipped)])
    return found


def _verdict(value: Any) -> Any:
    """A verifier on an answer that comes after a question and a tool's result."""
    spec, text = value
    question, result = told("user", 'Where is "the red house" of 1999?'), told("tool", "the red house is 3.5 km away")
    return verifier_from(spec)(answered(text, question, result)).met


def _scaffold(seed: Any) -> Any:
    rng = random.Random(f"scaffold {seed}")
    criteria = [
        (f"Is {number}.", rng.choice((1.0, 2.5, -2.0, 0.0))) for number in range(rng.choice((0, 1, 2, 3, 5, 8)))
    ]
    total, size = rng.choice((1, 2, 5, 100)), rng.choice((1, 2, 4))
    schedule = Schedule(total)
    step, place = rng.randint(1, total + 1), rng.randint(1, size)
    prompt = rng.choice((
        [{"role": "user", "content": "q"}], [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}], [],
    ))  # fmt: skip
    run = rng.choice(("", "r"))
    shown = scaffolded(prompt, criteria, schedule=schedule, step=step, place=place, size=size, run=run)
    scores = [rng.choice((None, 0.0, 0.5, -0.5, 1.0, 1.5)) for _ in range(rng.choice((0, 1, 2, 5)))]
    whole = dataset_score(scores)
    numbers = [getattr(whole, name) for name in whole.__slots__]
    return [shown, [round(one, 6) if isinstance(one, float) else one for one in numbers]]


READERS: dict[str, Callable[[Any], Any]] = {
    "rubric_row": _rubric_row,
    "standards": _standards,
    "rubric": _rubric,
    "unused": _unused,
    "constraints": _constraints,
    "verdict": _verdict,
    "scaffold": _scaffold,
}
