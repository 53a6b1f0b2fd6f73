"""``calipers ifeval``: computes IFEval's accuracies from a file of responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from calipers.cli.command_options import InputFile, command_option
from calipers.cli.messages import BadLines, print_message
from calipers.cli.output import add_force_option, require_replaceable
from calipers.errors import ConfigError, InputError
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from calipers.verifiers.ifeval.rows import Pairing, Prompt, Report, Response

T = TypeVar("T")
_NOT_IFEVALS: Final = frozenset({"rubric", "rubrics", "checkers", "functions", "constraints"})
"""Keys of a row that hold standards other than IFEval's instructions."""
_ACCURACIES = ("prompt_strict", "inst_strict", "prompt_loose", "inst_loose")


@click.command(short_help="Check responses against IFEval's instructions.")
@click.argument("responses", type=InputFile())
@command_option(
    "data",
    "--input",
    type=InputFile(),
    metavar="DATA",
    help="IFEval's prompts (with instruction_id_list and kwargs). Not needed if RESPONSES has these fields.",
)
@command_option(
    "--output-dir",
    type=click.Path(file_okay=False),
    named=True,
    metavar="DIR",
    help="Also write eval_results_strict.jsonl and eval_results_loose.jsonl there, one line for each response, as the "
    "official evaluator does.",
)
@add_force_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def ifeval(responses: str, data: str | None, output_dir: str | None, *, force: bool, as_json: bool) -> int:
    """Check each response in RESPONSES ("prompt" and "response") against the instructions of its prompt.

    Prints the share of prompts and of instructions followed, strictly and loosely, and a table by kind of instruction.
    Needs no network. Responses are matched to DATA by key if they have one, else by prompt.

    \b
    calipers generate input_data.jsonl -o responses.jsonl --form responses \\
      --model openai/gpt-5-mini
    calipers ifeval responses.jsonl
    calipers ifeval others.jsonl --input input_data.jsonl --output-dir results

    Exit code: 0 all checked, 1 a line could not be read or a prompt has no response, 2 bad usage or configuration.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.verifiers.ifeval.rows import (  # noqa: PLC0415 - --help stays quick
        READINGS,
        check_response,
        report,
        results_path,
        write_results,
    )

    if output_dir is not None:
        if not Path(output_dir).is_dir():
            raise ConfigError(f"--output-dir {output_dir}: there is no such folder; create it first")
        beside = {"the file of responses": responses, "the file of prompts": data}
        for reading in READINGS:
            path = str(results_path(Path(output_dir), reading))
            require_replaceable("--output-dir", path, force=force, beside=beside)
    problems = _Problems()
    pairing = _paired(responses, data, problems)
    if not pairing.pairs:
        raise InputError("no response could be checked", source=responses)
    judged = [check_response(prompt, response) for prompt, response in pairing.pairs]
    found = report(judged)
    if output_dir is not None:
        write_results(judged, Path(output_dir))
    if as_json:
        click.echo(json.dumps(found.to_dict() | {"warnings": problems.warnings, "errors": problems.errors}))
    else:
        _print(found)
    return 1 if problems.errors or pairing.unanswered else 0


class _Problems:
    """Prints warnings and errors about rows at once, and keeps them."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.errors: list[str] = []
        self._print = BadLines()

    def warn(self, message: str) -> None:
        self.warnings.append(message)
        print_message(f"Warning: {message}")

    def error(self, message: str, path: str, line: int) -> None:
        error = InputError(message, source=path, line=line)
        self.errors.append(str(error))
        self._print(error)


def _paired(responses: str, data: str | None, problems: _Problems) -> Pairing:
    from calipers.verifiers.ifeval.rows import Pairing, pair, read_prompt, read_response  # noqa: PLC0415 - as above

    if data is None:

        def parse(row: dict[str, Any], line: int) -> tuple[Prompt, Response]:
            if row.get("instruction_id_list") is None:
                raise ConfigError(
                    f"{responses}:{line}: has no instruction_id_list; name the file with IFEval's prompts: --input DATA"
                )
            return read_prompt(row, line), read_response(row, line)

        return Pairing(tuple(_read(responses, parse, problems)), (), (), ())
    prompts = _read(data, read_prompt, problems)
    pairing = pair(prompts, _read(responses, read_response, problems))
    for line, message in pairing.errors:
        problems.error(message, responses, line)
    for warning in pairing.warnings:
        problems.warn(f"{responses}: {warning}")
    if pairing.unanswered:
        some = ", ".join(str(prompt.key) for prompt in pairing.unanswered[:5])
        problems.warn(
            f"{len(pairing.unanswered)} of {len(prompts)} prompts have no response and are excluded from all figures "
            f"(keys {some}{', ...' if len(pairing.unanswered) > 5 else ''})"
        )
    return pairing


def _read(path: str, parse: Callable[[dict[str, Any], int], T], problems: _Problems) -> list[T]:
    from calipers.inputs.records import file_rows  # noqa: PLC0415 - as above

    rows, others = [], set[str]()
    for line, row in file_rows(Path(path)):
        try:
            given = _object(row)
            others |= _NOT_IFEVALS & {key for key, value in given.items() if value}
            rows += [parse(one, line) for one in each_response(given)]
        except InputError as error:
            problems.error(str(error), path, line)
    if others:
        problems.warn(f"{path}: not used: {', '.join(sorted(others))}; only IFEval's instructions are checked here")
    return rows


def _object(row: object) -> dict[str, Any]:
    from calipers.inputs.records import without_empty_fields  # noqa: PLC0415 - as above

    if not isinstance(row, dict):
        raise InputError(row if isinstance(row, str) else 'must be an object such as {"prompt": "...", "response": ""}')
    return without_empty_fields(row)


def each_response(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield, for the command ``ifeval``, a row with IFEval's fields for each response in ``row``.

    Responses are the row's ``response``, its ``responses``, or the trajectories of a group. In a group, a trajectory's
    response is its last message without the reasoning before it. Raises InputError with the field's name.
    """
    from calipers.inputs import as_group  # noqa: PLC0415 - as above
    from calipers.verifiers.answer import final_answer  # noqa: PLC0415 - likewise

    flat = _with_instructions(dict(row))
    listed = flat.get("responses")
    if "response" in flat:
        yield flat
    elif isinstance(listed, list):
        yield from ({**flat, "response": response} for response in listed)
    elif isinstance(flat.get("trajectories"), list | tuple):
        for one in as_group(row).trajectories:
            yield {**flat, "response": final_answer(one) or ""}
    else:
        yield flat


def _with_instructions(row: dict[str, Any]) -> dict[str, Any]:
    from calipers.rubric.dataset_standards import read_standards  # noqa: PLC0415 - as above

    if row.get("instruction_id_list") is None:
        rules = read_standards(row, rubric=False).rules
        if rules is not None and "instruction_id_list" in rules.value:
            row |= rules.value
    for name in ("instruction_id_list", "kwargs"):
        row[name] = _list(row.get(name), name)
    return {**row, "prompt": _prompt(row)}


def _list(value: Any, name: str) -> Any:
    """Return ``value`` as a list; JSON text is decoded, also in its items."""
    from calipers.rubric.dataset_standards import parse_json_text  # noqa: PLC0415 - as above

    value = parse_json_text(value, name)
    if isinstance(value, list):
        return [parse_json_text(one, f"{name}[{place}]") for place, one in enumerate(value)]
    return value


def _prompt(row: Mapping[str, Any]) -> Any:
    """Return the prompt's text; of messages, the last user message."""
    from calipers.verifiers.answer import message_text  # noqa: PLC0415 - as above

    prompt = row.get("prompt") if row.get("prompt") is not None else row.get("context")
    if isinstance(prompt, str) or not isinstance(prompt, Sequence):
        return prompt
    of_user = [one for one in prompt if isinstance(one, Mapping) and one.get("role") == "user"]
    if not of_user:
        raise InputError("prompt: must be text, or messages with a user message")
    return message_text(dict(of_user[-1]))


def _print(found: Report) -> None:
    rows = [(name, kind.count, f"{kind.strict:.4f}", f"{kind.loose:.4f}") for name, kind in found.by_type.items()]
    for name, *cells in (("instruction", "count", "strict", "loose"), *rows):
        click.echo(f"{name:44}" + "".join(f"{cell:>9}" for cell in cells))
    click.echo(f"\n{counted(found.prompts, 'prompt')}, {counted(found.instructions, 'instruction')}")
    click.echo("".join(f"{name:>14}" for name in _ACCURACIES))
    click.echo("".join(f"{getattr(found, name):>14.4f}" for name in _ACCURACIES))
    if found.no_verdict:
        click.echo(f"{counted(found.no_verdict, 'check')} without a verdict: counted as not followed")
