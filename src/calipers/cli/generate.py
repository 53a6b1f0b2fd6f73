"""``calipers generate``: generates responses to a file of prompts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calipers.backends.names import name_without_password, url_without_password
from calipers.capacity.spending import Estimate, estimate_generating
from calipers.cli.estimate import print_estimate, require_estimate
from calipers.cli.messages import BadLines, print_message, reason_lines, tells_if_interrupted
from calipers.cli.output import require_replaceable
from calipers.cli.progress import ProgressLine
from calipers.cli.terminal import Terminal
from calipers.config.flag_values import read_params, read_price
from calipers.errors import ConfigError
from calipers.generation.forms import output_form, response_rows, row_for_main_eval, write_rows
from calipers.generation.models import address_of, find_model
from calipers.generation.prompts import Prompt, read_prompts
from calipers.generation.sampling import (
    Answered,
    Failed,
    ResponseFile,
    Sample,
    Sampling,
    generate_responses,
    request_of,
)
from calipers.types import Usage
from calipers.types.encoding import counted


def generate(prompts: str, out: str, *, strict: bool, **options: Any) -> int:
    """Generate responses, write them, and return the exit code."""
    require_estimate(options)
    if out == "-":
        raise ConfigError(
            "--out -: name a file: responses are recorded beside it, so that an interrupted run can continue"
        )
    resumes = Path(f"{out}.samples.jsonl").is_file()
    beside = {"the file of prompts": prompts}
    require_replaceable("--out", out, force=options["force"], beside=beside, resumes=resumes)
    bad = BadLines()
    asked = read_prompts(prompts, key=options["prompt_key"], on_error=None if strict else bad, check=row_for_main_eval)
    heat = {} if options["temperature"] is None else {"temperature": options["temperature"]}
    sampling = Sampling(
        options["n"], options["max_tokens"], read_params(options["param"]) | heat, options["sampling_seed"]
    )
    price = None if options["price"] is None else read_price(options["price"])
    if options["estimate"]:
        return _print_estimate(asked, out, sampling, price, options)
    with tells_if_interrupted(f"What has arrived is in {out}.samples.jsonl: run the same command again to continue."):
        answered, reused = asyncio.run(_generate(asked, out, sampling, price, options))
    write_rows((row for answer in answered for row in response_rows(answer, output_form(out))), out)
    _print_summary(answered, out, reused)
    return int(bool(bad.count or any(answer.failed for answer in answered)))


def _print_estimate(
    prompts: Sequence[Prompt],
    out: str,
    sampling: Sampling,
    price: tuple[float, ...] | None,
    options: Mapping[str, Any],
) -> int:
    tokens, most = options["reply_tokens"], options["max_tokens"]
    if tokens is not None and tokens > most:
        raise ConfigError(f"--reply-tokens {tokens}: is above --max-tokens {most}; lower it, or raise --max-tokens")
    address = address_of(options["model"], base_url=options["base_url"])
    spending = []
    if address is not None:
        requests = [request_of(prompt, number, sampling) for prompt in prompts for number in range(sampling.n)]
        name = name_without_password(options["model"] or "") or f"the model at {url_without_password(address)}"
        spending = [estimate_generating(name, address, requests, tokens=tokens or most, price=price)]
    reply = "as --reply-tokens says" if tokens else "at most, as --max-tokens says; --reply-tokens N"
    estimate = Estimate(len(prompts), tuple(spending), ("requests that are repeated because they fail",))
    print_estimate(estimate, noun="prompts", reply=reply, kept=f"{out}.samples.jsonl")
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
        if isinstance(done, Failed):
            self.failures[done.kind] += 1
        else:
            self.usage = Usage.total([self.usage, done.usage])
        failed = [f"{count:,} {name}" for name, count in sorted(self.failures.items())]
        parts = [f"{self.responses:,} of {self.line.total:,} responses"]
        parts += [f"failed: {' + '.join(failed)}"] if failed else []
        parts += [f"{self.usage.input_tokens + self.usage.output_tokens:,} tokens"]
        parts += [f"${self.usage.cost_usd:,.2f}"] if self.usage.cost_usd else []
        self.line.move(self.responses, ", ".join(parts))


async def _generate(
    prompts: Sequence[Prompt],
    out: str,
    sampling: Sampling,
    price: tuple[float, ...] | None,
    options: Mapping[str, Any],
) -> tuple[list[Answered], int]:
    """Generate responses to each prompt; return them, and how many are from an earlier run."""
    model, warnings = await find_model(
        options["model"], base_url=options["base_url"], seconds=options["timeout"], price=price
    )
    for warning in warnings:
        print_message(f"Warning: {warning}")
    line = ProgressLine(Terminal(stderr=True), total=len(prompts) * sampling.n)
    with ResponseFile(f"{out}.samples.jsonl") as stored, line:
        answers = generate_responses(
            prompts, model, sampling=sampling, stored=stored, concurrency=options["concurrency"],
            tell=Progress(line).arrived,
        )  # fmt: skip
        return [answer async for answer in answers], stored.reused


def _print_summary(answered: Sequence[Answered], out: str, reused: int) -> None:
    """Print how many responses were generated, and the most frequent reasons of failures."""
    samples = [sample for row in answered for sample in row.samples]
    cut = sum(sample.finish_reason == "length" for sample in samples)
    usage = Usage.total([sample.usage for sample in samples])
    parts = [f"{counted(len(samples), 'response')} to {counted(sum(bool(row.samples) for row in answered), 'prompt')}"]
    parts += [f"{reused:,} of them from an earlier run"] if reused else []
    parts += [f"{cut:,} cut off at --max-tokens"] if cut else []
    parts += [f"{usage.output_tokens:,} tokens"] if usage.output_tokens else []
    parts += [f"${usage.cost_usd:,.4f}{' as first paid' if reused else ''}"] if usage.cost_usd else []
    print_message(f"{', '.join(parts)}: {out}")
    if failures := Counter(failed.reason for row in answered for failed in row.failed):
        print_message(f"{counted(failures.total(), 'request')} failed and have no response:")
        for line in reason_lines(failures, 5):
            print_message(f"  {line}")
