"""``calipers generate``: generates responses to a file of prompts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from calipers.backends.names import name_without_password, url_without_password
from calipers.cli.command_options import FiniteRange, InputFile, command_option, env_file_option
from calipers.cli.estimate import estimate_options, require_estimate
from calipers.cli.messages import BadLines, print_message, reason_lines, tells_if_interrupted
from calipers.cli.output import add_force_option, require_replaceable
from calipers.config.flag_values import read_params, read_price
from calipers.errors import ConfigError
from calipers.types import Usage
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from calipers.cli.progress import ProgressLine
    from calipers.generation.forms import Form
    from calipers.generation.prompts import Prompt
    from calipers.generation.sampling import Answered, Failed, Sample, Sampling

_REMEDIES: Final = {"cut off before a word": " (raise --max-tokens)"}


@click.command(short_help="Generate responses to a file of prompts.")
@click.argument("prompts", type=InputFile())
@command_option("-o", "--out", required=True, named=True, metavar="OUT", help="File of responses: .jsonl, or .parquet.")
@command_option(
    "--model",
    metavar="MODEL",
    help="The model that responds: provider/model, or a model of the server. [default: the server's only one]",
)
@command_option(
    "--base-url",
    multiple=True,
    metavar="URL",
    help="An OpenAI-compatible server. May be repeated: the servers share the work. [default: the provider's]",
)
@command_option("--n", default=1, show_default=True, type=click.IntRange(1), help="Responses to each prompt.")
@command_option(
    "--max-tokens",
    default=4096,
    show_default=True,
    type=click.IntRange(1),
    help="Token limit of a response, reasoning included.",
)
@command_option("--temperature", type=FiniteRange(0), metavar="T", help="Sampling temperature. [default: the model's]")
@command_option(
    "--sampling-seed", type=int, metavar="N", help="Seed of sampling: response i of a prompt uses the seed N + i."
)
@command_option(
    "--param",
    multiple=True,
    named=True,
    metavar="KEY=VALUE",
    help="A further request parameter, e.g. top_p=0.9 (VALUE is JSON or text). May be repeated.",
)
@command_option("--concurrency", default=64, show_default=True, type=click.IntRange(1), help="Requests in flight.")
@command_option(
    "--timeout",
    default=600.0,
    show_default=True,
    type=FiniteRange(0, min_open=True),
    help="Seconds a request may take.",
)
@command_option(
    "--price",
    metavar="IN,OUT[,CACHED]",
    help="US dollars per million tokens of input, output and cached input, for a model that the price list lacks. "
    "[default: the price list's]",
)
@command_option(
    "--form",
    type=click.Choice(["groups", "rows", "responses"]),
    help="What OUT is: a groups file, the rows of PROMPTS with a column of responses, or a line for each response. "
    "[default: groups; rows in Parquet]",
)
@estimate_options
@add_force_option
@command_option(
    "--prompt-key", metavar="FIELD", help="The field of PROMPTS with the prompt. [default: prompt, messages or context]"
)
@command_option("--strict", is_flag=True, help="Stop at the first line that cannot be read, with exit code 2.")
@env_file_option
def generate(prompts: str, out: str, form: Form | None, *, strict: bool, **options: Any) -> int:
    """Generate responses to the prompts in PROMPTS (.jsonl, .jsonl.gz or .parquet: text or messages) and write OUT.

    Responses are recorded in OUT.samples.jsonl as they arrive: run the same command again to continue after an
    interruption, and nothing is generated twice. A request that fails is reported and has no response in OUT.

    \b
    calipers generate prompts.jsonl -o out.jsonl --model openai/gpt-5-mini --n 8
    calipers generate prompts.parquet -o responses.parquet \\
      --base-url http://localhost:8000/v1 --temperature 0.7

    Exit code: 0 every prompt has all its responses, 1 something failed or could not be read, 2 bad usage or
    configuration, 130 interrupted.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.generation.forms import output_form, response_rows, write_rows  # noqa: PLC0415 - --help stays quick
    from calipers.generation.main_eval import row_for_main_eval  # noqa: PLC0415 - --help stays quick
    from calipers.generation.prompts import read_prompts  # noqa: PLC0415 - likewise

    require_estimate(options)
    _require_writable(prompts, out, force=options["force"])
    chosen, bad = form or output_form(out), BadLines()
    check = None if chosen == "responses" else row_for_main_eval  # skip a row that ``score`` could not read either
    asked = read_prompts(prompts, key=options["prompt_key"], on_error=None if strict else bad, check=check)
    if options["estimate"]:
        return _print_estimate(asked, out, options)
    with tells_if_interrupted(f"What has arrived is in {out}.samples.jsonl: run the same command again to continue."):
        answered, reused = asyncio.run(_generate(asked, out, options))
    write_rows((row for one in answered for row in response_rows(one, chosen)), out)
    _print_summary(answered, out, reused)
    return int(bool(bad.count or any(one.failed for one in answered)))


def _print_estimate(prompts: Sequence[Prompt], out: str, options: Mapping[str, Any]) -> int:
    from calipers.capacity.spending import Estimate, estimate_generating  # noqa: PLC0415 - --help stays quick
    from calipers.cli.estimate import print_estimate  # noqa: PLC0415 - likewise
    from calipers.generation.models import address_of  # noqa: PLC0415 - likewise
    from calipers.generation.sampling import request_of  # noqa: PLC0415 - likewise

    sampling, tokens = _sampling(options), options["reply_tokens"]
    if tokens is not None and tokens > options["max_tokens"]:
        raise ConfigError(
            f"--reply-tokens {tokens}: is above --max-tokens {options['max_tokens']}; raise that or lower it"
        )
    address = address_of(options["model"], base_url=options["base_url"])
    spending = []
    if address is not None:
        requests = [request_of(prompt, number, sampling) for prompt in prompts for number in range(sampling.n)]
        name = name_without_password(options["model"] or "") or f"the model at {url_without_password(address)}"
        spending = [
            estimate_generating(name, address, requests, tokens=tokens or options["max_tokens"], price=_price(options))
        ]
    reply = "as --reply-tokens says" if tokens else "at most, as --max-tokens says; --reply-tokens N"
    found = Estimate(len(prompts), tuple(spending), ("requests that are repeated because they fail",))
    print_estimate(found, noun="prompts", reply=reply, kept=f"{out}.samples.jsonl")
    return 0


@dataclass(slots=True)
class Progress:
    """Counts responses as they arrive, and shows them on the command's progress ``line``."""

    line: ProgressLine
    responses: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))

    def arrived(self, done: Sample | Failed) -> None:
        """Count a response as it arrives, and update the command's progress line."""
        self.responses += 1
        usage, kind = getattr(done, "usage", None), getattr(done, "kind", None)
        self.usage = self.usage if usage is None else Usage.total([self.usage, usage])
        self.failures.update([] if kind is None else [kind])
        failed = [f"{count:,} {name}" for name, count in sorted(self.failures.items())]
        parts = [f"{self.responses:,} of {self.line.total:,} responses"]
        parts += [f"failed: {' + '.join(failed)}"] if failed else []
        parts += [f"{self.usage.input_tokens + self.usage.output_tokens:,} tokens"]
        parts += [f"${self.usage.cost_usd:,.2f}"] if self.usage.cost_usd else []
        self.line.move(self.responses, ", ".join(parts))


async def _generate(prompts: Sequence[Prompt], out: str, options: Mapping[str, Any]) -> tuple[list[Answered], int]:
    """Generate responses to each prompt; return them, and how many are from an earlier run."""
    from calipers.cli.progress import ProgressLine  # noqa: PLC0415 - likewise
    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - likewise
    from calipers.generation.models import find_model  # noqa: PLC0415 - likewise
    from calipers.generation.response_file import ResponseFile  # noqa: PLC0415 - --help stays quick
    from calipers.generation.sampling import generate_responses  # noqa: PLC0415 - likewise

    sampling = _sampling(options)
    model, warnings = await find_model(
        options["model"], base_url=options["base_url"], seconds=options["timeout"], price=_price(options)
    )
    for warning in warnings:
        print_message(f"Warning: {warning}")
    line = ProgressLine(Terminal(stderr=True), total=len(prompts) * sampling.n)
    with ResponseFile(f"{out}.samples.jsonl") as stored, line:
        answers = generate_responses(
            prompts, model, sampling=sampling, stored=stored, concurrency=options["concurrency"],
            tell=Progress(line).arrived,
        )  # fmt: skip
        return [one async for one in answers], stored.reused


def _print_summary(answered: Sequence[Answered], out: str, reused: int) -> None:
    """Print how many responses were generated, and the most frequent reasons of failures."""
    samples = [sample for one in answered for sample in one.samples]
    cut = sum(sample.finish_reason == "length" for sample in samples)
    usage = Usage.total([sample.usage for sample in samples])
    parts = [f"{counted(len(samples), 'response')} to {counted(sum(bool(one.samples) for one in answered), 'prompt')}"]
    parts += [f"{reused:,} of them from an earlier run"] if reused else []
    parts += [f"{cut:,} cut off at the token limit"] if cut else []
    parts += [f"{usage.output_tokens:,} tokens"] if usage.output_tokens else []
    parts += [f"${usage.cost_usd:,.4f}{' as first paid' if reused else ''}"] if usage.cost_usd else []
    print_message(f"{', '.join(parts)}: {out}")
    if notes := Counter(sample.note for sample in samples if sample.note is not None):
        listed = ", ".join(f"{count:,} × {note}{_REMEDIES.get(note, '')}" for note, count in notes.most_common())
        print_message(f"{notes.total():,} of them are unusual, and are written as responses: {listed}")
    if failures := Counter(failed.reason for one in answered for failed in one.failed):
        print_message(f"{counted(failures.total(), 'request')} failed and have no response:")
        for line in reason_lines(failures, 5):
            print_message(f"  {line}")


def _require_writable(prompts: str, out: str, *, force: bool) -> None:
    """Raise ConfigError, before anything is generated, if OUT cannot be written or must not be replaced."""
    path = Path(out)
    if out == "-":
        raise ConfigError(
            "--out -: name a file: responses are recorded beside it, so that an interrupted run can continue"
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: name a file in a folder that exists")
    resumes = Path(f"{out}.samples.jsonl").is_file()
    require_replaceable("--out", out, force=force, beside={"the file of prompts": prompts}, resumes=resumes)


def _price(options: Mapping[str, Any]) -> tuple[float, ...] | None:
    return None if options["price"] is None else read_price(options["price"])


def _sampling(options: Mapping[str, Any]) -> Sampling:
    from calipers.generation.sampling import Sampling  # noqa: PLC0415 - --help stays quick

    heat = {} if options["temperature"] is None else {"temperature": options["temperature"]}
    return Sampling(options["n"], options["max_tokens"], read_params(options["param"]) | heat, options["sampling_seed"])
