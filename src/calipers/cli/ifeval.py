"""``calipers ifeval``: computes IFEval's accuracies from a file of responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from calipers.cli.messages import BadLines, print_message
from calipers.cli.output import print_json
from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group
from calipers.inputs.records import file_rows, without_empty_fields
from calipers.rubric.dataset_standards import parse_json_text, read_standards
from calipers.types.encoding import counted
from calipers.verifiers.answer import final_answer, message_text
from calipers.verifiers.ifeval.rows import (
    Pairing,
    Prompt,
    Response,
    check_response,
    pair,
    read_prompt,
    read_response,
    report,
)

T = TypeVar("T")
_NOT_IFEVALS: Final = frozenset({"rubric", "rubrics", "checkers", "functions", "constraints"})
"""Keys of a row that hold standards other than IFEval's instructions."""
_ACCURACIES: Final = ("prompt_strict", "inst_strict", "prompt_loose", "inst_loose")


def ifeval(responses: str, data: str | None, *, as_json: bool) -> int:
    """Check responses, print the accuracies, and return the exit code."""
    problems = _Problems()
    pairing = _paired(responses, data, problems)
    if not pairing.pairs:
        raise InputError("no response could be checked", source=responses)
    accuracy = report([check_response(prompt, response) for prompt, response in pairing.pairs])
    if as_json:
        print_json(accuracy | {"warnings": problems.warnings, "errors": problems.errors})
    else:
        _print(accuracy)
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
    if data is None:

        def parse(row: dict[str, Any], line: int) -> tuple[Prompt, Response]:
            if row.get("instruction_id_list") is None:
                raise ConfigError(
                    f"{responses}:{line}: has no instruction_id_list; name the file with IFEval's prompts: --input DATA"
                )
            return read_prompt(row, line), read_response(row, line)

        return Pairing(tuple(_read(responses, parse, problems)))
    prompts = _read(data, read_prompt, problems)
    pairing = pair(prompts, _read(responses, read_response, problems))
    for line, message in pairing.errors:
        problems.error(message, responses, line)
    for warning in pairing.warnings:
        problems.warn(f"{responses}: {warning}")
    if pairing.unanswered:
        first_keys = ", ".join(str(prompt.key) for prompt in pairing.unanswered[:5])
        problems.warn(
            f"{len(pairing.unanswered)} of {len(prompts)} prompts have no response and are excluded from all figures "
            f"(keys {first_keys}{', ...' if len(pairing.unanswered) > 5 else ''})"
        )
    return pairing


def _read(path: str, parse: Callable[[dict[str, Any], int], T], problems: _Problems) -> list[T]:
    rows, unused = [], set[str]()
    for line, row in file_rows(Path(path)):
        try:
            if not isinstance(row, dict):
                raise InputError(  # noqa: TRY301 - placed below
                    row if isinstance(row, str) else 'must be an object such as {"prompt": "...", "response": ""}'
                )
            fields = without_empty_fields(row)
            unused |= _NOT_IFEVALS & {key for key, value in fields.items() if value}
            rows += [parse(response, line) for response in each_response(fields)]
        except InputError as error:
            problems.error(str(error), path, line)
    if unused:
        problems.warn(f"{path}: not used: {', '.join(sorted(unused))}; only IFEval's instructions are checked here")
    return rows


def each_response(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row with IFEval's fields for each response in ``row``.

    Responses are the row's ``response``, its ``responses``, or the trajectories of a group. In a group, a trajectory's
    response is its last message without the reasoning before it. Raises InputError with the field's name.
    """
    flat = dict(row)
    if flat.get("instruction_id_list") is None:
        rules = read_standards(flat, rubric=False).rules
        if rules is not None and "instruction_id_list" in rules.value:
            flat |= rules.value
    for name in ("instruction_id_list", "kwargs"):
        flat[name] = _list(flat.get(name), name)
    flat["prompt"] = _prompt(flat)
    if "response" in flat:
        yield flat
    elif isinstance(flat.get("responses"), list):
        yield from ({**flat, "response": response} for response in flat["responses"])
    elif isinstance(flat.get("trajectories"), list | tuple):
        for trajectory in as_group(row).trajectories:
            yield {**flat, "response": final_answer(trajectory) or ""}
    else:
        yield flat


def _list(value: Any, name: str) -> Any:
    """Return ``value`` as a list; JSON text is decoded, also in its items."""
    value = parse_json_text(value, name)
    if isinstance(value, list):
        return [parse_json_text(item, f"{name}[{place}]") for place, item in enumerate(value)]
    return value


def _prompt(row: Mapping[str, Any]) -> Any:
    """Return the prompt's text; of messages, the last user message."""
    prompt = row.get("prompt") if row.get("prompt") is not None else row.get("context")
    if isinstance(prompt, str) or not isinstance(prompt, Sequence):
        return prompt
    of_user = [message for message in prompt if isinstance(message, Mapping) and message.get("role") == "user"]
    if not of_user:
        raise InputError("prompt: must be text, or messages with a user message")
    return message_text(dict(of_user[-1]))


def _print(found: Mapping[str, Any]) -> None:
    by_type = found["by_type"].items()
    rows = [(name, kind["count"], f"{kind['strict']:.4f}", f"{kind['loose']:.4f}") for name, kind in by_type]
    for name, *cells in (("instruction", "count", "strict", "loose"), *rows):
        click.echo(f"{name:44}" + "".join(f"{cell:>9}" for cell in cells))
    click.echo(f"\n{counted(found['prompts'], 'prompt')}, {counted(found['instructions'], 'instruction')}")
    click.echo("".join(f"{name:>14}" for name in _ACCURACIES))
    click.echo("".join(f"{found[name]:>14.4f}" for name in _ACCURACIES))
    if found["no_verdict"]:
        click.echo(f"{counted(found['no_verdict'], 'check')} without a verdict: counted as not followed")
