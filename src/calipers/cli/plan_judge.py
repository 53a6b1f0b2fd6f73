"""``calipers plan judge``: GPUs for a judge beside a trainer, its queue against the step, and what to cut first."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import click

from calipers.capacity.judge_load import BUSY, JudgeLoad
from calipers.cli.command_options import SectionedCommand, command_option

_STEP, _QUESTION, _SPEED = "A step", "A question", "A GPU of the judge"
_ASKED: dict[str, tuple[str, str]] = {
    "step_seconds": (_STEP, "Seconds of a training step without judging: generation and update."),
    "groups": (_STEP, "Prompts of a step."),
    "group_size": (_STEP, "Rollouts of a prompt."),
    "window": (_STEP, "Seconds of the step in which the judge may work. [default: all of it, as in asynchronous runs]"),
    "orders": (_QUESTION, "Orders in which a group is shown."),
    "samples": (_QUESTION, "Answers for each order."),
    "share": (_QUESTION, "Share of the groups that reach this judge, as the last of a cascade."),
    "prompt_tokens": (_QUESTION, "Tokens of instructions, rubric and task."),
    "answer_tokens": (_QUESTION, "Tokens of a rollout, as the judge sees it."),
    "score_tokens": (_QUESTION, "Tokens of a score in the answer."),
    "explanation_tokens": (_QUESTION, "Tokens of an explanation in the answer; 0 without."),
    "prefill": (_SPEED, "Tokens that a GPU reads in a second."),
    "decode": (_SPEED, "Tokens that a GPU writes in a second, over all calls in flight."),
    "cached": (_SPEED, "Share of a question's tokens that the server's prefix cache holds."),
}


def _with_load(command: Any) -> Any:
    for field in reversed(fields(JudgeLoad)):
        section, text = _ASKED[field.name]
        command = command_option(
            field.name,
            f"--{field.name.replace('_', '-')}",
            section=section,
            type=click.INT if isinstance(field.default, int) else click.FLOAT,
            default=field.default,
            show_default=field.default is not None,
            help=text,
        )(command)
    return command


@click.command(cls=SectionedCommand, short_help="Plan the GPUs of a judge beside a trainer.")
@_with_load
@command_option("--gpus", type=click.IntRange(min=1), help="GPUs that the judge has. [default: as many as it needs]")
def judge(gpus: int | None, **values: Any) -> int:
    """Compute how many GPUs a judge of whole groups needs beside a trainer, and show the arithmetic.

    \b
    calipers plan judge --step-seconds 90 --groups 128 --group-size 8 --orders 2
    calipers plan judge --step-seconds 60 --window 15 --groups 256 --gpus 2

    Exit code: 0 the GPUs suffice, 1 they do not, 2 bad usage.
    """  # noqa: D301 - click's mark for lines to keep as they are
    load = JudgeLoad(**values)
    given = gpus or load.gpus
    for name, text in [*_by_formula(load), *_queue(load, given), *_cuts(load, given)]:
        click.echo(f"{name:<24} {text}".rstrip())
    return 0 if load.fits(given) else 1


def _by_formula(load: JudgeLoad) -> list[tuple[str, str]]:
    each = load.score_tokens + load.explanation_tokens
    read = f"{load.input_tokens:,.0f} · {1 - load.cached:g} / {load.prefill:,.0f}"
    return [
        ("rollouts a step", f"{load.groups:,} groups · {load.group_size} = {load.rollouts:,}"),
        (
            "questions a step",
            (
                f"{load.groups:,} groups · {load.orders} orders · {load.samples} samples · {load.share:g} of them "
                f"= {load.questions:,.0f}"
            ),
        ),
        (
            "tokens of a question",
            (
                f"{load.prompt_tokens:,.0f} + {load.group_size} rollouts · {load.answer_tokens:,.0f} "
                f"= {load.input_tokens:,.0f}"
            ),
        ),
        ("tokens of an answer", f"{load.group_size} rollouts · {each:,.0f} = {load.output_tokens:,.0f}"),
        (
            "GPU seconds, each",
            f"{read} + {load.output_tokens:,.0f} / {load.decode:,.0f} = {load.question_seconds:.3f}",
        ),
        ("GPU seconds a step", f"{load.questions:,.0f} · {load.question_seconds:.3f} = {load.work:,.1f}"),
        ("GPUs for the judge", f"{load.work:,.1f} / ({load.seconds:g} s · {BUSY:g}), rounded up = {load.gpus:,}"),
    ]


def _queue(load: JudgeLoad, gpus: int) -> list[tuple[str, str]]:
    queue = load.queue_seconds(gpus)
    share = queue / load.step_seconds
    lines = [
        ("", ""),
        (f"with {gpus:,} GPU{'s' if gpus > 1 else ''}", f"{load.work:,.1f} / {gpus:,} = {queue:,.1f} s of queue"),
        ("  judged after rollouts", f"a step of {load.step_seconds:g} s takes {load.step_seconds + queue:,.1f} s"),
        ("  judged meanwhile", f"the judge is busy for {share:.0%} of a step"),
    ]
    if queue > load.step_seconds:
        lines.append(("", f"it falls {queue - load.step_seconds:,.1f} s behind with every step"))
    return lines


def _cuts(load: JudgeLoad, gpus: int) -> list[tuple[str, str]]:
    if load.fits(gpus):
        return []
    allowed = gpus * load.seconds * BUSY
    lines = [("", ""), ("cut first", f"until {gpus} · {load.seconds:g} s · {BUSY:g} = {allowed:,.1f} GPU seconds do")]
    for what, after in load.cuts():
        done = after.fits(gpus)
        lines.append(("", f"{what}: {after.work:,.1f}{' (enough)' if done else ''}"))
        if done:
            return lines
    return [*lines, ("", "all of it is not enough: a smaller judge, fewer groups, or more GPUs")]
