"""The constraints that an answer must fulfil: rules that code checks, and soft constraints that a judge weighs.

Reads rows of VerInstruct and VerIF (``checkers`` and ``functions``) and of IFEval. ``calipers.Hybrid`` combines the two
kinds of constraint into one reward.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from calipers.errors import InputError
from calipers.interfaces import Verifier
from calipers.verifiers.rules import RuleFunction
from calipers.verifiers.sandbox import Sandbox

RulesAs: TypeAlias = Literal["code", "judge", "ignore"]
"""How to use a data set's rules: run them as ``code``, give their text to the ``judge``, or ``ignore`` them."""

_TAG = re.compile(r"\s*\[(rule|llm)\]\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints of one group: ``rules`` are verifiers, ``soft`` are texts for the judge. Either may be empty.

    If ``soft`` is empty, the judge weighs the answers by its own standards if ``judged`` is True, else the judge
    is not asked. ``skipped`` describes the group's unusable constraints. These texts become warnings of the group's
    result.
    """

    rules: tuple[Verifier, ...] = ()
    soft: tuple[str, ...] = ()
    judged: bool = False
    skipped: tuple[str, ...] = ()


def read_constraints(
    ground_truth: str | Mapping[str, Any],
    *,
    instruction: str = "",
    rules: RulesAs = "code",
    truthy: bool = True,
    sandbox: Sandbox | None = None,
) -> Constraints:
    """Read the constraints to verify in a VerInstruct, VerIF or IFEval row.

    Rows of VerInstruct and VerIF have ``checkers`` ("[llm] Name: text" or "[rule] Name: text") and ``functions``. A
    checker with another tag or without a tag is ``skipped``, as in VerIF. Rows of IFEval have ``instruction_id_list``
    and ``kwargs``, which become rules only. ``ground_truth`` is the object or its JSON text, as in verl's
    ``reward_model.ground_truth``. With ``truthy`` the truth value of a rule's result counts, as in VerIF; otherwise
    only True and False do. Raises InputError naming the field, for example if the lists have different lengths or a
    rule has no function.
    """
    row = _object(ground_truth)
    if "instruction_id_list" in row:
        return _instructions(row, instruction, rules)
    checkers, functions = _texts(row, "checkers"), _texts(row, "functions")
    if len(checkers) != len(functions):
        raise InputError(f"functions: {len(functions)} given for {len(checkers)} checkers; give one for each checker")
    checked: list[Verifier] = []
    soft: list[str] = []
    skipped: list[str] = []
    for place, (checker, source) in enumerate(zip(checkers, functions, strict=True)):
        tagged = tagged_checker(checker)
        if tagged is None:
            skipped.append(f"checkers[{place}] is skipped: it begins with neither [rule] nor [llm]: {checker[:60]!r}")
            continue
        tag, wording = tagged
        if tag == "llm" or rules == "judge":
            soft.append(wording)
        elif rules == "code":
            try:
                rule = RuleFunction(source, instruction=instruction, name=wording, truthy=truthy, sandbox=sandbox)
            except InputError as error:
                raise InputError(f"functions[{place}]: {error}") from None
            checked.append(rule)
    return Constraints(tuple(checked), tuple(soft), skipped=tuple(skipped))


def tagged_checker(checker: str) -> tuple[Literal["rule", "llm"], str] | None:
    """Return the tag and the wording of a constraint among a row's ``checkers``; None for another tag, or without."""
    found = _TAG.fullmatch(checker)
    return None if found is None else ("rule" if found[1] == "rule" else "llm", found[2].strip())


def _instructions(row: Mapping[str, Any], prompt: str, rules: RulesAs) -> Constraints:
    """Return the instructions of an IFEval row as rules. They give the verdicts of the official checker."""
    from calipers.verifiers.ifeval.instructions import build_instructions  # noqa: PLC0415 - only where a row has instructions

    if "checkers" in row:
        raise InputError("instruction_id_list: the row also has checkers; remove one of the two")
    if rules == "judge":
        raise InputError("instruction_id_list: has no wording for a judge: run the instructions (code), or ignore them")
    names, kwargs = _texts(row, "instruction_id_list"), row.get("kwargs")
    kwargs = [{}] * len(names) if kwargs is None else kwargs
    if not isinstance(kwargs, list | tuple) or len(kwargs) != len(names):
        raise InputError(f"kwargs: must be a list, one for each of the {len(names)} instructions")
    made = build_instructions(names, kwargs, prompt=prompt or None)
    return Constraints(made if rules == "code" else ())


def _object(ground_truth: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(ground_truth, str):
        try:
            ground_truth = json.loads(ground_truth)
        except ValueError as error:
            raise InputError(f"ground_truth: not JSON: {error}") from None
    if not isinstance(ground_truth, Mapping):
        raise InputError("ground_truth: must be an object with checkers and functions")
    return ground_truth


def _texts(row: Mapping[str, Any], name: str) -> Sequence[str]:
    value = row.get(name)
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name}: {'is missing' if value is None else 'must be a list of texts'}")
    return value
