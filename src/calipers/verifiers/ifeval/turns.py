"""IFEval's instructions in conversations of several turns, as in Multi-IF: each turn's answer has its own instructions.

Not responsible for finding the turns in a row (``rubric.dataset_standards``), nor for the instructions themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.errors import InputError
from calipers.types import Trajectory, Verdict
from calipers.verifiers.answer import message_text, without_reasoning
from calipers.verifiers.ifeval.instructions import Instruction
from calipers.verifiers.ifeval.rows import build_instructions


@dataclass(frozen=True, slots=True)
class TurnInstruction:
    """A verifier of one turn's answer: ``turn`` counts the assistant's turns from 1.

    The verdict is None for a conversation without that turn, or whose answer there has no text.
    """

    turn: int
    instruction: Instruction

    def __call__(self, trajectory: Trajectory) -> Verdict:
        answers = turn_answers(trajectory)
        if len(answers) < self.turn:
            return Verdict(None, f"the conversation has no turn {self.turn}")
        answer = answers[self.turn - 1]
        if answer is None:
            return Verdict(None, f"turn {self.turn} has no answer to check")
        found = self.instruction.strict(answer)
        return Verdict(found.met, f"turn {self.turn}: {found.reason}" if found.reason else "")


def turn_answers(trajectory: Trajectory) -> list[str | None]:
    """Return the answer of each turn of a conversation, without its reasoning; None where a turn has no text.

    A turn ends before the next user message; its answer is the last assistant message in it.
    """
    answers: list[str | None] = []
    answering = False
    for message in trajectory.messages:
        if message.get("role") == "user":
            answering = False
        elif message.get("role") == "assistant":
            text = message_text(message)
            answer = None if text is None else without_reasoning(text)
            if answering:
                answers[-1] = answer
            else:
                answers.append(answer)
            answering = True
    return answers


def turn_instructions(turns: Any) -> tuple[TurnInstruction, ...]:
    """Return a verifier for each instruction of each turn; a turn has ``instruction_id_list``, ``kwargs``, ``prompt``.

    Raises InputError naming the turn and the field.
    """
    if not isinstance(turns, Sequence) or isinstance(turns, str):
        raise InputError("turns: must be a list")
    made: list[TurnInstruction] = []
    for number, turn in enumerate(turns, start=1):
        try:
            made += [TurnInstruction(number, one) for one in _built(turn)]
        except InputError as error:
            raise InputError(f"turn {number}: {error}") from None
    return tuple(made)


def _built(turn: Any) -> tuple[Instruction, ...]:
    ids = turn.get("instruction_id_list") if isinstance(turn, Mapping) else None
    if not isinstance(ids, list | tuple):
        raise InputError("instruction_id_list: is missing, or is no list")
    kwargs = turn.get("kwargs") or [{}] * len(ids)
    if not isinstance(kwargs, list | tuple) or len(kwargs) != len(ids):
        raise InputError(f"kwargs: must be a list, one for each of the {len(ids)} instructions")
    prompt = turn.get("prompt")
    return build_instructions(ids, kwargs, prompt=prompt if isinstance(prompt, str) else None)
