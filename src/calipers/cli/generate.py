"""``calipers generate``: a file of prompts in, a file of responses out.

The options that ``ifeval`` shares, and the run itself, stand here too. How prompts are read, asked and written is in
``generation``.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from calipers.cli.overwriting import NOT_KEPT, RESPONSES, SAMPLES, forcing, protect
from calipers.cli.setting import setting
from calipers.cli.withheld import key_for
from calipers.cli.words import BadLines, say
from calipers.config.texts import read_params
from calipers.errors import ConfigError, InputError

if TYPE_CHECKING:
    from calipers.generation.forms import Form
    from calipers.generation.prompts import Prompt
    from calipers.generation.sampling import Answered, Sampling

F = TypeVar("F", bound=Callable[..., Any])

_REMEDIES: Final = {"cut off before a word": " (raise --max-tokens)"}
_SAY_EVERY = 10.0
"""Seconds between lines of progress."""


def generating(command: F) -> F:
    """The options of whatever generates responses."""
    for option in reversed(
        [
            setting(
                "--model", metavar="MODEL", help="Who answers: provider/model, a server's model, a folder or hub name."
            ),
            setting(
                "--base-url",
                multiple=True,
                metavar="URL",
                help="An OpenAI-compatible server; several share the load. [default: the provider's, or vLLM in this "
                "process]",
            ),
            setting("--n", default=1, show_default=True, type=click.IntRange(1), help="Responses to each prompt."),
            setting(
                "--max-tokens",
                default=4096,
                show_default=True,
                type=click.IntRange(1),
                help="Token limit of a response, reasoning included.",
            ),
            setting("--temperature", type=click.FloatRange(0), metavar="T", help="[default: the model's]"),
            setting("--top-p", type=click.FloatRange(0, 1, min_open=True), metavar="P", help="[default: the model's]"),
            setting(
                "--sampling-seed", type=int, metavar="N", help="Response i of a prompt is asked for with seed N + i."
            ),
            setting(
                "--param",
                multiple=True,
                metavar="KEY=VALUE",
                help="A further request parameter, e.g. top_k=20 (VALUE is JSON or text); may be repeated.",
            ),
            setting("--concurrency", default=64, show_default=True, type=click.IntRange(1), help="Requests in flight."),
            setting(
                "--timeout",
                default=600.0,
                show_default=True,
                type=click.FloatRange(0, min_open=True),
                help="Seconds a request may take.",
            ),
            setting(
                "--tp-size",
                default=1,
                show_default=True,
                type=click.IntRange(1),
                help="Devices that share a model loaded into this process.",
            ),
            setting(
                "--ckpt-dir",
                type=click.Path(file_okay=False),
                named=True,
                metavar="DIR",
                help="An FSDP checkpoint of verl's, merged first; needs --merge-target.",
            ),
            setting(
                "--merge-target",
                type=click.Path(file_okay=False),
                named=True,
                metavar="DIR",
                help="Where the merged model is put; one that is there already is used.",
            ),
        ]
    ):
        command = option(command)
    return command


@click.command(short_help="Generate responses to a file of prompts.")
@click.argument("prompts", type=click.Path())
@setting("-o", "--out", required=True, named=True, metavar="OUT", help="File of responses: .jsonl, or .parquet.")
@generating
@setting(
    "--form",
    type=click.Choice(["groups", "rows", "responses"]),
    help="A groups file, the prompts' rows with their responses, or a line per response. [default: groups; rows in "
    "Parquet]",
)
@forcing
@setting("--prompt-key", metavar="FIELD", help="The prompts' field. [default: prompt, messages or context]")
@setting("--strict", is_flag=True, help="Stop at the first line that cannot be read, with exit code 2.")
def generate(prompts: str, out: str, form: Form | None, *, strict: bool, **options: Any) -> int:
    """Generate responses to the prompts in PROMPTS (.jsonl, .jsonl.gz or .parquet: text or messages) and write OUT.

    Responses are kept in OUT.samples.jsonl as they come: run the same command again to go on after an interruption, and
    nothing is generated twice. A request that fails is reported and has no response in OUT.

    \b
    calipers generate prompts.jsonl -o out.jsonl --model openai/gpt-5-mini --n 8
    calipers generate prompts.parquet -o responses.parquet \\
      --base-url http://localhost:8000/v1 --temperature 0.7
    calipers generate prompts.jsonl -o out.jsonl \\
      --model Qwen/Qwen2.5-7B-Instruct --tp-size 2

    Exit code: 0 every prompt has all its responses, 1 something failed or could not be read, 2 bad usage or
    configuration, 130 interrupted.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.generation.forms import form_for, rows_of, write  # noqa: PLC0415 - --help stays quick
    from calipers.generation.main_eval import for_main_eval  # noqa: PLC0415 - --help stays quick
    from calipers.generation.prompts import read_prompts  # noqa: PLC0415 - likewise

    check_out(prompts, out, force=options.pop("force"))
    said = Said()
    chosen = form or form_for(out)
    check = None if chosen == "responses" else for_main_eval  # what score could not read is not asked about
    on_error = None if strict else said.error
    asked = read_prompts(prompts, key=options.pop("prompt_key"), on_error=on_error, check=check)
    answered = asyncio.run(respond(asked, out=out, options=options, said=said))
    write((row for one in answered for row in rows_of(one, chosen)), out)
    said.summary(answered, out)
    return said.exit_code


@dataclass(slots=True)
class Said:
    """What went wrong, told on stderr as it comes; failures of requests are summed up."""

    bad_lines: BadLines = field(default_factory=BadLines)
    failures: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    began: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)

    def error(self, error: InputError) -> None:
        self.bad_lines(error)

    def warn(self, message: str) -> None:
        say(f"Warning: {message}")

    def progress(self, done: Answered, number: int, total: int) -> None:
        """Count what failed, and say now and then how far it is."""
        for failed in done.failed:
            self.failures[failed.reason] += 1
        if time.monotonic() - self.last >= _SAY_EVERY:
            self.last = time.monotonic()
            rate = number / (self.last - self.began)
            failed_yet = f", {self.failures.total():,} requests failed" if self.failures else ""
            say(f"{number:,} of {total:,} prompts answered, {rate:,.1f}/s{failed_yet}")

    def summary(self, answered: Sequence[Answered], out: str) -> None:
        """What there is now, and the commonest reasons why it is not more."""
        samples = [sample for one in answered for sample in one.samples]
        cut = sum(sample.finish_reason == "length" for sample in samples)
        told = [f"{len(samples):,} responses to {sum(bool(one.samples) for one in answered):,} prompts"]
        told += [f"{self.reused:,} of them from before"] if self.reused else []
        told += [f"{cut:,} cut off at the token limit"] if cut else []
        tokens = sum(sample.usage.output_tokens for sample in samples)
        told += [f"{tokens:,} tokens"] if tokens else []
        say(f"{', '.join(told)}: {out}")
        notes = Counter(sample.note for sample in samples if sample.note is not None)
        if notes:
            listed = ", ".join(f"{count:,} × {note}{_REMEDIES.get(note, '')}" for note, count in notes.most_common())
            say(f"{notes.total():,} of them are no usual text, and are responses all the same: {listed}")
        if self.failures:
            say(f"{self.failures.total():,} requests failed and have no response:")
        for reason, count in self.failures.most_common(5):
            say(f"  {count:,} × {reason}")

    @property
    def exit_code(self) -> int:
        return int(bool(self.bad_lines.count or self.failures))


def check_out(prompts: str, out: str, *, force: bool) -> None:
    """Raise ConfigError where OUT cannot be written or must not be replaced, before anything is generated."""
    path = Path(out)
    if out == "-":
        raise ConfigError("--out -: name a file: responses are kept beside it, so that an interrupted run can go on")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: name a file in a folder that exists")
    # Prompts with responses and groups are what people keep, too: a file is this command's where its responses lie
    # beside it.
    ours = RESPONSES if Path(f"{out}.samples.jsonl").is_file() else NOT_KEPT
    protect("--out", out, ours, force=force, beside={"the file of prompts": prompts})
    # It is added to, never replaced: nothing of a foreign file would be lost, and nothing of ours found again.
    protect("--out", f"{out}.samples.jsonl", SAMPLES, force=False, beside={"the file of prompts": prompts})


async def respond(prompts: Sequence[Prompt], *, out: str, options: dict[str, Any], said: Said) -> list[Answered]:
    """Every prompt with its responses, as the options say. Raises ConfigError before anything is asked."""
    from calipers.generation.models import find_model  # noqa: PLC0415 - likewise
    from calipers.generation.response_file import ResponseFile  # noqa: PLC0415 - --help stays quick
    from calipers.generation.sampling import generate as answers  # noqa: PLC0415 - likewise

    sampling = _sampling(options)
    name, urls = _merged(options), options["base_url"]
    model, warnings = await find_model(
        name,
        base_url=urls,
        api_key=key_for(name or "vllm/MODEL", urls, flag="model"),
        seconds=options["timeout"],
        tp_size=options["tp_size"],
    )
    for warning in warnings:
        said.warn(warning)
    answered: list[Answered] = []
    with ResponseFile(f"{out}.samples.jsonl") as stored:
        async for done in answers(prompts, model, sampling=sampling, stored=stored, concurrency=options["concurrency"]):
            answered.append(done)
            said.progress(done, len(answered), len(prompts))
        said.reused = stored.reused
    return answered


def _sampling(options: dict[str, Any]) -> Sampling:
    from calipers.generation.sampling import Sampling  # noqa: PLC0415 - --help stays quick

    params = read_params(options["param"])
    for name in ("temperature", "top_p"):
        if options[name] is not None:
            params[name] = options[name]
    return Sampling(options["n"], options["max_tokens"], params, options["sampling_seed"])


def _merged(options: dict[str, Any]) -> str | None:
    """The model's name; that of the merged checkpoint where there is one to merge."""
    checkpoint, target, model = options["ckpt_dir"], options["merge_target"], options["model"]
    if (checkpoint is None) != (target is None):
        raise ConfigError("--ckpt-dir and --merge-target belong together: what is merged, and where to")
    if checkpoint is None:
        return None if model is None else str(model)
    if model is not None:
        raise ConfigError("--model and --ckpt-dir both name the model: leave one out")
    from calipers.generation.merging import merge_checkpoint  # noqa: PLC0415 - where there is something to merge

    return merge_checkpoint(checkpoint, target)
