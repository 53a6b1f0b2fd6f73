"""``calipers generate``: generates responses to a file of prompts.

``ifeval`` uses the same options and the same way of generating.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from calipers.backends.names import name_without_password, url_without_password
from calipers.cli.command_options import InputFile, command_option, env_file_option
from calipers.cli.estimate import estimate_options, require_estimate
from calipers.cli.generation_options import generation_options
from calipers.cli.messages import BadLines, print_message, reason_lines, tells_if_interrupted
from calipers.cli.output import add_force_option, require_replaceable
from calipers.config.flag_values import read_pairs, read_params, read_price
from calipers.errors import ConfigError, InputError
from calipers.types import Usage
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from calipers.cli.progress import ProgressLine
    from calipers.generation.engine import Loading
    from calipers.generation.forms import Form
    from calipers.generation.prompts import Prompt
    from calipers.generation.sampling import Answered, Failed, Sample, Sampling

_REMEDIES: Final = {"cut off before a word": " (raise --max-tokens)"}


@click.command(short_help="Generate responses to a file of prompts.")
@click.argument("prompts", type=InputFile())
@command_option("-o", "--out", required=True, named=True, metavar="OUT", help="File of responses: .jsonl, or .parquet.")
@generation_options
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
    calipers generate prompts.jsonl -o out.jsonl \\
      --model Qwen/Qwen2.5-7B-Instruct --tp-size 2

    Exit code: 0 every prompt has all its responses, 1 something failed or could not be read, 2 bad usage or
    configuration, 130 interrupted.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.generation.forms import output_form, response_rows, write_rows  # noqa: PLC0415 - --help stays quick
    from calipers.generation.main_eval import row_for_main_eval  # noqa: PLC0415 - --help stays quick
    from calipers.generation.prompts import read_prompts  # noqa: PLC0415 - likewise

    require_estimate(options)
    require_writable_out(prompts, out, force=options.pop("force"))
    progress = Progress()
    chosen = form or output_form(out)
    check = None if chosen == "responses" else row_for_main_eval  # skip a row that ``score`` could not read either
    on_error = None if strict else progress.error
    asked = read_prompts(prompts, key=options.pop("prompt_key"), on_error=on_error, check=check)
    if options["estimate"]:
        return _print_estimate(asked, out, options)
    with tells_if_interrupted(f"What has arrived is in {out}.samples.jsonl: run the same command again to continue."):
        answered = asyncio.run(generate_responses(asked, out=out, options=options, progress=progress))
    write_rows((row for one in answered for row in response_rows(one, chosen)), out)
    progress.summary(answered, out)
    return progress.exit_code


def _print_estimate(prompts: Sequence[Prompt], out: str, options: dict[str, Any]) -> int:
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
    """Prints progress, problems and the summary of a generation to stderr; failed requests are counted by reason."""

    bad_lines: BadLines = field(default_factory=BadLines)
    failures: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    responses: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))
    line: ProgressLine | None = None

    def error(self, error: InputError) -> None:
        self.bad_lines(error)

    def warn(self, message: str) -> None:
        print_message(f"Warning: {message}")

    def add(self, done: Answered) -> None:
        """Count a command's failed requests."""
        for failed in done.failed:
            self.failures[failed.reason] += 1

    def arrived(self, done: Sample | Failed) -> None:
        """Count a response as it arrives, and update the command's progress line."""
        self.responses += 1
        usage, kind = getattr(done, "usage", None), getattr(done, "kind", None)
        self.usage = self.usage if usage is None else Usage.total([self.usage, usage])
        self.kinds.update([] if kind is None else [kind])
        if self.line is not None:
            failed = [f"{count:,} {name}" for name, count in sorted(self.kinds.items())]
            parts = [f"{self.responses:,} of {self.line.total:,} responses"]
            parts += [f"failed: {' + '.join(failed)}"] if failed else []
            parts += [f"{self.usage.input_tokens + self.usage.output_tokens:,} tokens"]
            parts += [f"${self.usage.cost_usd:,.2f}"] if self.usage.cost_usd else []
            self.line.move(self.responses, ", ".join(parts))

    def summary(self, answered: Sequence[Answered], out: str) -> None:
        """Print on the command line how many responses were generated, and the most frequent reasons of failures."""
        samples = [sample for one in answered for sample in one.samples]
        cut = sum(sample.finish_reason == "length" for sample in samples)
        prompts = sum(bool(one.samples) for one in answered)
        parts = [f"{counted(len(samples), 'response')} to {counted(prompts, 'prompt')}"]
        parts += [f"{self.reused:,} of them from an earlier run"] if self.reused else []
        parts += [f"{cut:,} cut off at the token limit"] if cut else []
        tokens = sum(sample.usage.output_tokens for sample in samples)
        parts += [f"{tokens:,} tokens"] if tokens else []
        cost = Usage.total([sample.usage for sample in samples]).cost_usd
        parts += [f"${cost:,.4f}{' as first paid' if self.reused else ''}"] if cost else []
        print_message(f"{', '.join(parts)}: {out}")
        notes = Counter(sample.note for sample in samples if sample.note is not None)
        if notes:
            listed = ", ".join(f"{count:,} × {note}{_REMEDIES.get(note, '')}" for note, count in notes.most_common())
            print_message(f"{notes.total():,} of them are unusual, and are written as responses: {listed}")
        if self.failures:
            print_message(f"{counted(self.failures.total(), 'request')} failed and have no response:")
        for line in reason_lines(self.failures, 5):
            print_message(f"  {line}")

    @property
    def exit_code(self) -> int:
        return int(bool(self.bad_lines.count or self.failures))


def require_writable_out(prompts: str, out: str, *, force: bool) -> None:
    """Raise ConfigError, before a command generates responses, if OUT cannot be written or must not be replaced."""
    path = Path(out)
    if out == "-":
        raise ConfigError(
            "--out -: name a file: responses are recorded beside it, so that an interrupted run can continue"
        )
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: name a file in a folder that exists")
    resumes = Path(f"{out}.samples.jsonl").is_file()
    require_replaceable("--out", out, force=force, beside={"the file of prompts": prompts}, resumes=resumes)


async def generate_responses(
    prompts: Sequence[Prompt], *, out: str, options: dict[str, Any], progress: Progress
) -> list[Answered]:
    """For the command line, generate responses to each prompt of a file. Raises ConfigError before any request."""
    from calipers.cli.progress import ProgressLine  # noqa: PLC0415 - likewise
    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - likewise
    from calipers.generation.models import find_model  # noqa: PLC0415 - likewise
    from calipers.generation.response_file import ResponseFile  # noqa: PLC0415 - --help stays quick
    from calipers.generation.sampling import generate_responses as answers  # noqa: PLC0415 - likewise

    sampling = _sampling(options)
    name, urls = _merged_model(options), options["base_url"]
    model, warnings = await find_model(
        name,
        base_url=urls,
        seconds=options["timeout"],
        price=_price(options),
        loading=_loading(options),
    )
    for warning in warnings:
        progress.warn(warning)
    answered: list[Answered] = []
    line = ProgressLine(Terminal(stderr=True), total=len(prompts) * sampling.n)
    with ResponseFile(f"{out}.samples.jsonl") as stored, line:
        progress.line = line
        async for done in answers(
            prompts, model, sampling=sampling, stored=stored, concurrency=options["concurrency"], tell=progress.arrived
        ):
            answered.append(done)
            progress.add(done)
        progress.reused = stored.reused
    return answered


def _price(options: Mapping[str, Any]) -> tuple[float, ...] | None:
    return None if options["price"] is None else read_price(options["price"])


def _sampling(options: dict[str, Any]) -> Sampling:
    from calipers.generation.sampling import Sampling  # noqa: PLC0415 - --help stays quick

    params = read_params(options["param"])
    for name in ("temperature", "top_p"):
        if options[name] is not None:
            params[name] = options[name]
    return Sampling(options["n"], options["max_tokens"], params, options["sampling_seed"])


def _loading(options: dict[str, Any]) -> Loading:
    from calipers.generation.engine import NO_TEMPLATE, Loading  # noqa: PLC0415 - --help stays quick

    file = options["chat_template"]
    template = file if file is None else NO_TEMPLATE if file == "none" else _template(file)
    engine = read_pairs(options["engine"], flag="--engine", example="max_model_len=8192")
    return Loading(options["tp_size"], engine, template)


def _template(file: str) -> str:
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigError(f"--chat-template {file}: cannot be read: {error}") from None
    if not text.strip():
        raise ConfigError(f"--chat-template {file}: is empty; for no template, --chat-template none")
    return text


def _merged_model(options: dict[str, Any]) -> str | None:
    """Return the model's name, or the folder of the checkpoint that is merged first."""
    checkpoint, target, model = options["ckpt_dir"], options["merge_target"], options["model"]
    if (checkpoint is None) != (target is None):
        raise ConfigError(
            "--ckpt-dir and --merge-target need each other: the checkpoint, and the folder for the merged model"
        )
    if checkpoint is None:
        return None if model is None else str(model)
    if model is not None:
        raise ConfigError("--model and --ckpt-dir both name the model: leave one out")
    from calipers.generation.merging import is_merged, merge_checkpoint, shards  # noqa: PLC0415 - only to merge
    from calipers.generation.models import require_vllm  # noqa: PLC0415 - likewise

    if not is_merged(target):
        shards(Path(checkpoint))  # called for its check
    require_vllm(str(target))  # before minutes are spent on merging
    return merge_checkpoint(checkpoint, target)
