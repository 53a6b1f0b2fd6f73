"""Constraints to verify: those of a data set's row (VerInstruct, VerIF, IFEval), and rules files for a whole run.

A rules file has ``rules`` and ``gates`` (verifiers by name), ``soft`` constraints (texts for the judge), and settings
for combining them. ``calipers.Hybrid`` combines them.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.interfaces import Verifier
from calipers.rubric.dataset_standards import STANDARDS_KEYS, read_standards
from calipers.rubric.unused_standards import unread_standards
from calipers.types import TrajectoryGroup
from calipers.verifiers.configuration import verifier_from
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
    sandbox: Sandbox | None = None,
) -> Constraints:
    """Read the constraints to verify in a VerInstruct, VerIF or IFEval row.

    Rows of VerInstruct and VerIF have ``checkers`` ("[llm] Name: text" or "[rule] Name: text") and ``functions``. A
    checker with another tag or without a tag is ``skipped``, as in VerIF. Rows of IFEval have ``instruction_id_list``
    and ``kwargs``, which become rules only. ``ground_truth`` is the object or its JSON text, as in verl's
    ``reward_model.ground_truth``. The truth value of a rule's result counts, as in VerIF.

    Raises InputError naming the field, for example if the lists have different lengths or a rule has no function.
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
        tagged = _TAG.fullmatch(checker)
        if tagged is None:
            skipped.append(f"checkers[{place}] is skipped: it begins with neither [rule] nor [llm]: {checker[:60]!r}")
        elif tagged[1] == "llm" or rules == "judge":
            soft.append(tagged[2].strip())
        elif rules == "code":
            try:
                rule = RuleFunction(
                    source, instruction=instruction, name=tagged[2].strip(), truthy=True, sandbox=sandbox
                )
            except InputError as error:
                raise InputError(f"functions[{place}]: {error}") from None
            checked.append(rule)
    return Constraints(tuple(checked), tuple(soft), skipped=tuple(skipped))


def _object(ground_truth: str | Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        row = json.loads(ground_truth) if isinstance(ground_truth, str) else ground_truth
    except ValueError as error:
        raise InputError(f"ground_truth: not JSON: {error}") from None
    if not isinstance(row, Mapping):
        raise InputError("ground_truth: must be an object with checkers and functions")
    return row


def _instructions(row: Mapping[str, Any], prompt: str, rules: RulesAs) -> Constraints:
    """Return the instructions of an IFEval row as rules. They give the verdicts of the official checker."""
    from calipers.verifiers.ifeval.instructions import build_instructions  # noqa: PLC0415 - only where a row has instructions

    if rules == "judge":
        raise InputError("instruction_id_list: has no wording for a judge: run the instructions (code), or ignore them")
    names, kwargs = _texts(row, "instruction_id_list"), row.get("kwargs")
    kwargs = [{}] * len(names) if kwargs is None else kwargs
    if not isinstance(kwargs, list | tuple) or len(kwargs) != len(names):
        raise InputError(f"kwargs: must be a list, one for each of the {len(names)} instructions")
    built = build_instructions(names, kwargs, prompt=prompt or None)
    return Constraints(built if rules == "code" else ())


def _texts(row: Mapping[str, Any], name: str) -> Sequence[str]:
    value = row.get(name)
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name}: {'is missing' if value is None else 'must be a list of texts'}")
    return value


KEY: Final = "constraints"
"""The key under which a group has its own constraints: VerIF's ``checkers`` and ``functions``, or
``rules`` and ``soft``.
"""
_NONE: Final = "not used: --combine; the group has no rules, so the judge alone scored it"
_SHOWN: Final = "calipers score --reference shows it to the judge"
_SOFT: Final = "the judge is asked about the group's constraints alone"
_UNASKED: Final = "the group's rules decide alone, and no judge is asked"
_OF_ROWS: Final = ("checkers", "functions", "instruction_id_list")
"""Keys of rules as data sets state them, which ``constraints.read_constraints`` reads."""
_SETTINGS: Final = ("combine", "code", "threshold", "floor")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The content of a rules file. ``settings`` has the file's options for ``Hybrid``. Hybrid checks them.

    ``constraints`` says how rules of single groups are used: ``code`` runs them, ``judge`` gives the text of VerIF's
    rules to the judge, ``ignore`` drops them.
    """

    rules: tuple[Verifier, ...] = ()
    gates: tuple[Verifier, ...] = ()
    soft: tuple[str, ...] = ()
    constraints: RulesAs = "code"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def constraints_of(self, group: TrajectoryGroup) -> Constraints:
        """Return the group's own constraints to verify, joined with those of this rules file.

        Raises InputError naming the field.

        If there are no soft constraints, the judge weighs the answers by the group's rubric or by its own standards.
        The judge weighs nothing if the group has constraints and no rubric.
        """
        of_group = own_constraints(group, rules=self.constraints)
        soft = self.soft if of_group is None else (*self.soft, *of_group.soft)
        if soft and group.rubric is not None:
            raise InputError(
                "it has a rubric, and there are soft constraints (its own, or the rules file's): the judge weighs by "
                "one of the two, so remove the other"
            )
        judged = of_group is None or group.rubric is not None
        notes = unread_standards(group, remedy=_SOFT if soft else _SHOWN if judged else _UNASKED)
        if of_group is None:
            none = () if self.rules or soft or self.gates else (_NONE,)
            return Constraints(self.rules, soft, judged=True, skipped=(*none, *notes))
        rules, skipped = (*self.rules, *of_group.rules), (*of_group.skipped, *notes)
        return replace(of_group, rules=rules, soft=soft, judged=judged, skipped=skipped)


def own_constraints(group: TrajectoryGroup, *, rules: RulesAs = "code") -> Constraints | None:
    """Return the group's ``constraints`` to verify, or the rules in another field of its data set, or None.

    Raises InputError naming the field, also if a group has both and they differ.
    """
    value, place = group.extra.get(KEY), KEY
    stated = None if STANDARDS_KEYS.isdisjoint(group.extra) else read_standards(group.extra, rubric=False).rules
    if stated is not None:
        if value is not None and value != stated.value:
            raise InputError(f"{KEY} and the rules in {stated.place} differ; remove one of them")
        value, place = stated.value, stated.place
    if value is None:
        return None
    asked = [message.get("content") for message in group.context if message.get("role") == "user"]
    instruction = asked[-1] if asked and isinstance(asked[-1], str) else ""  # which VerIF's rules take
    try:
        return _read(json.loads(value) if isinstance(value, str) else value, instruction, rules)
    except (CalipersError, ValueError) as error:
        raise InputError(f"{place}: {error}") from None


def _read(given: Any, asked: str, rules: RulesAs) -> Constraints:
    if isinstance(given, Mapping) and not given.keys().isdisjoint(_OF_ROWS):
        return read_constraints(given, instruction=asked, rules=rules)
    if not isinstance(given, Mapping) or not given or not given.keys() <= {"rules", "soft"}:
        raise InputError("must be an object with checkers and functions, or with rules and soft")
    if rules == "judge" and given.get("rules"):
        raise InputError("its rules have no wording for a judge: run them (code), or ignore them")
    checked = _each(given.get("rules"), "rules", verifier_from) if rules == "code" else ()
    return Constraints(checked, _each(given.get("soft"), "soft", _text))


def read_rules(path: str | os.PathLike[str]) -> RuleFile:
    """Read a rules file, in TOML. Raises InputError naming the file and the field."""
    file = Path(path)
    known = [*_READ, "constraints", *_SETTINGS]
    try:
        value = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        for name in value:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
                raise ConfigError(f"unknown field {name!r}; {hint}")
        how = value.get("constraints", "code")
        if how not in get_args(RulesAs):
            raise ConfigError(f"constraints={how!r}: it must be code, judge or ignore")
        lists = {name: _each(value.get(name), name, read) for name, read in _READ.items()}
        return RuleFile(**lists, constraints=how, settings={name: value[name] for name in _SETTINGS if name in value})
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    except UnicodeDecodeError:
        problem = "is not UTF-8 text; save the file as UTF-8"
    except tomllib.TOMLDecodeError as error:
        problem = f"is not TOML: {error}"
    except CalipersError as error:
        problem = str(error)
    raise InputError(problem, source=str(file))


def _each(values: Any, name: str, read: Callable[[Any], _T]) -> tuple[_T, ...]:
    """Read each value of a list in a rules file. Raises ConfigError naming the field and position."""
    if values is None:
        return ()
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise ConfigError(f"{name}: give a list, as in {name} = [...]")
    read_values = []
    for place, value in enumerate(values):
        try:
            read_values.append(read(value))
        except CalipersError as error:
            raise ConfigError(f"{name}[{place}]: {error}") from None
    return tuple(read_values)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"must be text, not {value!r:.40}")
    return value


_READ: Final[Mapping[str, Callable[[Any], Any]]] = {"rules": verifier_from, "gates": verifier_from, "soft": _text}
"""The fields of a rules file that are lists, with what reads each value."""
