"""``calipers ifeval``: computes IFEval's accuracies from a file of responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from calipers.cli.command_options import command_option, is_typed
from calipers.cli.generate import Progress, generate_responses, require_writable_out
from calipers.cli.generation_options import generation_options
from calipers.cli.messages import BadLines, print_message, tells_if_interrupted
from calipers.cli.output import add_force_option, require_replaceable
from calipers.errors import ConfigError, InputError
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from calipers.verifiers.ifeval.rows import Pairing, Prompt, Report, Response

_SQLITE: Final = b"SQLite format 3\0"
T = TypeVar("T")
_NOT_IFEVALS: Final = frozenset({"rubric", "rubrics", "checkers", "functions", "constraints"})
"""Keys of a row that hold standards other than IFEval's instructions."""
_ACCURACIES = ("prompt_strict", "inst_strict", "prompt_loose", "inst_loose")


@click.command(short_help="Check responses against IFEval's instructions.")
@click.argument("responses", type=click.Path(), required=False)
@command_option(
    "data",
    "--input",
    type=click.Path(),
    metavar="DATA",
    help="IFEval's prompts (JSONL with instruction_id_list and kwargs). Not needed if RESPONSES has these fields.",
)
@command_option(
    "--output-dir",
    type=click.Path(file_okay=False),
    named=True,
    metavar="DIR",
    help="Also write eval_results_strict.jsonl and eval_results_loose.jsonl there, one line for each response, as the "
    "official evaluator does.",
)
@generation_options
@command_option(
    "-o",
    "--out",
    default="ifeval_responses.jsonl",
    show_default=True,
    type=click.Path(),
    named=True,
    metavar="OUT",
    help="The file for generated responses, one on each line.",
)
@add_force_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@command_option("--strict", is_flag=True, help="Stop at the first line that cannot be read, with exit code 2.")
def ifeval(
    responses: str | None,
    data: str | None,
    output_dir: str | None,
    *,
    as_json: bool,
    strict: bool,
    **options: Any,
) -> int:
    """Check each response in RESPONSES (JSONL with "prompt" and "response") against the instructions of its prompt.

    Without RESPONSES, and with --model, --base-url or --ckpt-dir, responses to the prompts in DATA are generated first.

    Prints the share of prompts and of instructions followed, strictly and loosely, and a table by kind of instruction.
    Needs no network. Responses are matched to DATA by key if they have one, else by prompt.

    \b
    calipers ifeval responses.jsonl --input input_data.jsonl
    calipers ifeval responses.jsonl --input input_data.jsonl --json
    calipers ifeval responses.jsonl --input input_data.jsonl --output-dir results
    calipers ifeval --input input_data.jsonl --model openai/gpt-5-mini
    calipers ifeval --input input_data.jsonl --ckpt-dir global_step_100/actor \\
      --merge-target merged --tp-size 2

    Exit code: 0 all checked, 1 a line could not be read or a prompt has no response, 2 bad usage or configuration.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.verifiers.ifeval.rows import check_response, report, write_results  # noqa: PLC0415 - --help stays quick

    problems = _Problems(strict=strict)
    if output_dir is not None:
        _check_folder(output_dir, {"the file of responses": responses, "the file of prompts": data}, options["force"])
    if responses is None:
        responses = _generated(data, problems, options)
    elif typed := [
        name for name in ("model", "base_url", "ckpt_dir") if is_typed(name)
    ]:  # these options are for the model that answers, not for a judge
        flag = f"--{typed[0].replace('_', '-')}"
        raise ConfigError(f"{responses} is checked as it is: leave {flag} out, or write -o {responses} to generate it")
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


@dataclass(frozen=True, slots=True)
class _Problems:
    """Prints warnings and errors about IFEval's rows to stderr at once. With ``strict`` the first bad row is raised
    instead.
    """

    strict: bool
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    bad_lines: BadLines = field(default_factory=BadLines)

    def warn(self, message: str) -> None:
        self.warnings.append(message)
        print_message(f"Warning: {message}")

    def error(self, error: InputError) -> None:
        if self.strict:
            raise error
        self.errors.append(str(error))
        self.bad_lines(error)


def _check_folder(folder: str, beside: dict[str, str | None], force: bool) -> None:  # noqa: FBT001 - a flag's value
    """Raise ConfigError if the per-response files cannot be written to ``folder``."""
    from calipers.verifiers.ifeval.rows import READINGS, results_path  # noqa: PLC0415 - --help stays quick

    if not Path(folder).is_dir():
        raise ConfigError(f"--output-dir {folder}: there is no such folder; create it first")
    for reading in READINGS:
        require_replaceable("--output-dir", str(results_path(Path(folder), reading)), force=force, beside=beside)


def _generated(data: str | None, problems: _Problems, options: dict[str, Any]) -> str:
    """Generate responses to the prompts in DATA and return their file. A request that fails has no response in it."""
    from calipers.generation.forms import response_rows, write_rows  # noqa: PLC0415 - as above
    from calipers.generation.prompts import read_prompts  # noqa: PLC0415

    out = str(options.pop("out"))
    if data is None:
        raise ConfigError("name RESPONSES to check, or the prompts to generate some for: --input DATA with --model")
    if not (options["model"] or options["base_url"] or options["ckpt_dir"]):
        raise ConfigError("name RESPONSES to check, or a model to generate them: --model, --base-url or --ckpt-dir")
    require_writable_out(data, out, force=options.pop("force"))
    progress = Progress()
    # A bad row is skipped here, and reported when its instructions are read.
    prompts = read_prompts(data, key="prompt", on_error=lambda _: None)
    with tells_if_interrupted(f"What has arrived is in {out}.samples.jsonl: run the same command again to continue."):
        answered = asyncio.run(generate_responses(prompts, out=out, options=options, progress=progress))
    write_rows((row for one in answered for row in response_rows(one, "responses")), out)
    progress.summary(answered, out)
    failures = progress.failures.items()
    problems.errors.extend(f"{count} requests failed and have no response: {why}" for why, count in failures)
    return out


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
    prompts: list[Prompt] = _read(data, read_prompt, problems)
    given: list[Response] = _read(responses, read_response, problems)
    pairing = pair(prompts, given)
    for line, message in pairing.errors:
        problems.error(InputError(message, source=responses, line=line))
    for warning in pairing.warnings:
        problems.warn(f"{responses}: {warning}")
    if pairing.unanswered:
        some = ", ".join(str(prompt.key) for prompt in pairing.unanswered[:5])
        more = ", ..." if len(pairing.unanswered) > 5 else ""
        problems.warn(
            f"{len(pairing.unanswered)} of {len(prompts)} prompts have no response and are excluded from all figures "
            f"(keys {some}{more})"
        )
    return pairing


def _read(path: str, parse: Callable[[dict[str, Any], int], T], problems: _Problems) -> list[T]:
    from calipers.cli.ifeval_rows import each_response  # noqa: PLC0415 - as above

    rows, others = [], set[str]()
    for line, found in _rows(path):
        try:
            row = _object(found) if isinstance(found, bytes) else found
            others |= _NOT_IFEVALS & {key for key, value in row.items() if value}
            rows += [parse(one, line) for one in each_response(row)]
        except InputError as error:
            problems.error(InputError(str(error), source=path, line=line))
    if others:
        problems.warn(f"{path}: not used: {', '.join(sorted(others))}; only IFEval's instructions are checked here")
    return rows


def _rows(path: str) -> Iterator[tuple[int, bytes | dict[str, Any]]]:
    """Yield the lines of a JSONL file or the rows of a Parquet file, numbered from 1."""
    if not path.endswith(".parquet"):
        yield from _lines(path)
        return
    from calipers.inputs.records import parquet_rows, without_empty_fields  # noqa: PLC0415 - as above

    for number, row in parquet_rows(Path(path)):
        if isinstance(row, str):
            raise InputError(row, source=path, line=number)
        yield number, without_empty_fields(row)


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, numbered from 1. Raises InputError if the file cannot be read."""
    try:
        data = click.open_file(path, "rb").read() if path == "-" else Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", source=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=path) from None
    if data.startswith(_SQLITE):
        raise InputError("is a SQLite database, such as a ledger, and no JSON lines", source=path)
    for line, text in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if text.strip():
            yield line, text


def _object(text: bytes) -> dict[str, Any]:
    from calipers.inputs.records import json_value  # noqa: PLC0415 - as above

    row = json_value(text)
    if not isinstance(row, dict):
        raise InputError('must be an object such as {"prompt": "...", "response": "..."}')
    return row


def _print(found: Report) -> None:
    from rich.table import Table  # noqa: PLC0415

    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - as above

    console = Terminal()
    kinds = Table(box=None, pad_edge=False)
    kinds.add_column("instruction")
    for name in ("count", "strict", "loose"):
        kinds.add_column(name, justify="right")
    for name, kind in found.by_type.items():
        kinds.add_row(name, str(kind.count), f"{kind.strict:.4f}", f"{kind.loose:.4f}")
    console.print(kinds, "")
    console.print(f"{counted(found.prompts, 'prompt')}, {counted(found.instructions, 'instruction')}")
    whole = Table(box=None, pad_edge=False)
    for name in _ACCURACIES:
        whole.add_column(name, justify="right")
    whole.add_row(*(f"{getattr(found, name):.4f}" for name in _ACCURACIES))
    console.print(whole)
    if found.no_verdict:
        click.echo(f"{counted(found.no_verdict, 'check')} without a verdict: counted as not followed")
