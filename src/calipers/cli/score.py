"""``calipers score``: a groups file in, a result file out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from calipers.cli.output import Output
from calipers.errors import ConfigError, InputError
from calipers.readers.rubrics import SUFFIXES, read_rubric
from calipers.types import Rubric

EMBEDDED = "embedded"
F = TypeVar("F", bound=Callable[..., Any])


def setting(*names: str, **attributes: Any) -> Callable[[F], F]:
    """An option that can also be set as CALIPERS_NAME in the environment."""
    variable = "CALIPERS_" + names[-1].removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, **attributes)


@click.command(short_help="Score a groups file with a judge.")
@click.argument("groups", type=click.Path())
@setting("-o", "--out", required=True, metavar="OUT", help="Result file (JSONL), one line a group; - for stdout.")
@setting(
    "--judge",
    multiple=True,
    metavar="MODEL",
    help="provider/model, embedded, scripted:FILE or replay:LEDGER; several are a panel. [default: embedded]",
)
@setting(
    "--base-url",
    multiple=True,
    metavar="URL",
    help="The judge's OpenAI-compatible endpoint, when it is not the provider's own; several share the work. "
    "In a panel: --judge vllm/qwen3@URL.",
)
@setting(
    "--panel",
    type=click.Choice(["all", "cycle", "fallback"]),
    help="Of several judges: all are asked everything (the default), each order another one, or the next where one fails.",
)
@setting(
    "--quorum",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Judges of a panel that must have scored a trajectory; else it abstains.",
)
@setting("--weights", metavar="W,W...", help="What each judge of a panel counts, in their order. [default: equal]")
@setting("--policy", metavar="MODEL", help="The model under training: judges of its family are refused.")
@setting("--own-family", is_flag=True, help="Allow judges of the policy's family all the same.")
@setting(
    "--protocol",
    default="listwise",
    show_default=True,
    metavar="NAME",
    help="How the judge is asked: listwise, pairwise, pointwise or checklist.",
)
@setting(
    "--orders",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Presentations of each group in different orders, averaged.",
)
@setting(
    "--at-once",
    type=click.IntRange(4),
    metavar="N",
    help="Listwise: candidates in a question at most; larger groups are asked in parts that share two.",
)
@setting(
    "--aspect",
    multiple=True,
    metavar="NAME[=WEIGHT]",
    help="Listwise: score this aspect apart, e.g. correctness=2; may be repeated. The score is their weighted mean.",
)
@setting(
    "--pairing",
    default="all",
    show_default=True,
    type=click.Choice(["all", "pivot", "swiss"]),
    help="Pairwise: which pairs are compared.",
)
@setting("--samples", default=1, show_default=True, type=click.IntRange(1), help="Times each presentation is asked.")
@setting(
    "--rubric",
    type=click.Path(dir_okay=False),
    help="Standards for groups that bring none: a text file, or criteria as .toml, .json or .yaml.",
)
@setting(
    "--grading",
    multiple=True,
    metavar="KEY=VALUE",
    help="How a checklist is asked and scored, e.g. mode=relative or on_missing=partial; may be repeated.",
)
@setting("--ledger", metavar="URL", help="Where answers are kept: a path or sqlite:///PATH. [default: OUT.ledger.db]")
@setting(
    "--concurrency",
    default="64",
    show_default=True,
    metavar="N",
    help="Judge calls in flight, or auto: as many as the server makes use of.",
)
@setting("--requests-per-minute", type=click.FloatRange(0, min_open=True), help="Calls begun in a minute at most.")
@setting("--tokens-per-minute", type=click.FloatRange(0, min_open=True), help="Tokens asked and answered in a minute.")
@setting(
    "--budget",
    multiple=True,
    metavar="KIND=AMOUNT",
    help="What may be spent: usd=5, tokens=2e6 or calls=1000; may be repeated. Then groups end failed.",
)
@setting(
    "--price",
    metavar="IN,OUT[,CACHED]",
    help="US dollars per million tokens of input, output and cached input, for a judge whose price is not known.",
)
@setting(
    "--hedge",
    type=click.FloatRange(0, 0.5, min_open=True),
    help="Share of the questions, the slowest, that are asked twice at most, e.g. 0.05.",
)
@setting(
    "--reward",
    type=click.Choice(["score", "win_rate", "rank", "min_max"]),
    help="What the reward is. [default: score; pairwise: win_rate]",
)
@setting("--ties", type=click.FloatRange(0), metavar="N", help="Tie scores within so many standard errors, e.g. 1.")
@setting(
    "--length-control",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Share of the rewards' range among near-tied scores that goes by length, shorter is better, e.g. 0.3.",
)
@setting(
    "--blend",
    type=click.Choice(["sum", "weighted", "lexicographic"]),
    help="Put the judge's reward together with the trajectories' own.",
)
@setting(
    "--blend-weight",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The judge's share with --blend weighted.",
)
@setting(
    "--resolve",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="TOLERANCE",
    help="Ask on until one more presentation would add less than this to the group's reliability, e.g. 0.015; "
    "pairwise: ask the other order where the verdict may be the place's.",
)
@setting(
    "--most",
    default=8,
    show_default=True,
    type=click.IntRange(1),
    help="Presentations a group may take with --resolve.",
)
@setting(
    "--unresolved",
    default="keep",
    show_default=True,
    type=click.Choice(["keep", "tie", "abstain"]),
    help="With --resolve: what becomes of groups whose scores differ no more than their standard errors.",
)
@setting(
    "--no-experience",
    is_flag=True,
    help="Do not let the ledger's earlier answers teach the judge's noise, its leaning to places, and a panel's weights.",
)
@setting("--seed", default=0, show_default=True, type=int, help="Seeds the orders in which candidates are shown.")
@setting(
    "--timeout",
    default=120.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds a call may take.",
)
@setting("--deadline", type=click.FloatRange(0, min_open=True), help="Seconds a group may take, retries included.")
@setting(
    "--max-tokens",
    default=8192,
    show_default=True,
    type=click.IntRange(1),
    help="Token limit of a reply, reasoning included; grows when a reply is cut off.",
)
@setting(
    "--context-window",
    metavar="N",
    type=click.IntRange(1),
    help="Tokens the judge can read at once; longer groups lose the middles of their longest texts. [default: as the server tells]",
)
@setting(
    "--out-of-range",
    default="reask",
    show_default=True,
    type=click.Choice(["reask", "rescale", "rank", "clamp"]),
    help="What becomes of a reply with scores off the scale.",
)
@setting(
    "--param",
    multiple=True,
    metavar="KEY=VALUE",
    help="A further request parameter, e.g. temperature=0 (VALUE is JSON or text); may be repeated.",
)
@setting(
    "--reasoning",
    default="hidden",
    show_default=True,
    type=click.Choice(["hidden", "shown"]),
    help="Whether the judge sees the agents' reasoning.",
)
@setting(
    "--on-attack",
    default="report",
    show_default=True,
    type=click.Choice(["report", "quarantine", "floor"]),
    help="What becomes of a trajectory that addresses the judge: reported, not judged at all, or the lowest reward.",
)
@setting(
    "--canaries",
    default="off",
    show_default=True,
    type=click.Choice(["off", "sampled", "always"]),
    help="Show answers that must not win among the real ones, in a share of the questions or in all.",
)
@setting(
    "--canary-rate",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="The share of the questions, with --canaries sampled.",
)
@setting("--strict", is_flag=True, help="Stop at the first line that cannot be read, with exit code 2.")
@setting(
    "-v",
    "--verbose",
    count=True,
    help="Print each group's ranking with explanations; -vv also every reply and the judge's reasoning.",
)
def score(groups: str, out: str, **options: Any) -> int:
    """Score the trajectories of each group in GROUPS against one another and write one result line a group to OUT.

    GROUPS is .jsonl, .jsonl.gz, .json or .parquet (- for JSONL on stdin). Answers are kept in a ledger next to OUT: run the
    same command again to go on after an interruption, and nothing answered is paid twice.

    \b
    calipers score groups.jsonl -o scored.jsonl
    calipers score groups.jsonl -o scored.jsonl --judge openai/gpt-5-mini --orders 2
    calipers score groups.jsonl -o scored.jsonl --judge vllm/qwen3-32b --base-url http://localhost:8000/v1

    Every flag can also be set in calipers.toml, or in the environment as CALIPERS_ORDERS and the like.

    Exit code: 0 all scored, 1 something could not be scored, 2 bad usage or configuration, 130 interrupted.
    """  # noqa: D301 - click's mark for lines to keep as they are
    return asyncio.run(_score(_Run(groups, out, options)))


@dataclass(frozen=True, slots=True)
class _Run:
    groups: str
    out: str
    options: dict[str, Any]


async def _score(run: _Run) -> int:
    from rich.console import Console  # noqa: PLC0415 - --help stays quick

    from calipers.cli.progress import Report  # noqa: PLC0415
    from calipers.readers import read_groups  # noqa: PLC0415

    verbose, strict = run.options["verbose"], run.options["strict"]
    _check_paths(run.groups, run.out)
    console = Console(stderr=True)
    bad: list[InputError] = []
    with ExitStack() as stack:
        judge = _judge(run)
        stack.callback(judge.close)
        report = stack.enter_context(Report(console, total=_count_lines(run.groups)))
        for warning in await _preflight(judge):
            report.say(f"Warning: {warning}")

        def complain(error: InputError) -> None:
            bad.append(error)
            report.say(f"Error: {error}")

        source = read_groups(run.groups, strict=strict, on_error=None if strict else complain)
        output = stack.enter_context(Output(run.out))
        async for result in judge.score_groups(source, ordered=True):
            output.write(result)
            report.add(result)
            if verbose:
                from calipers.show import describe_result  # noqa: PLC0415

                report.say(describe_result(result))
        reused = getattr(judge.store, "reused", 0)
    report.summary(bad_lines=len(bad), reused=reused, out=run.out if run.out != "-" else "")
    return exit_code(report.trajectories.keys(), bad_lines=len(bad))


def exit_code(statuses: Any, *, bad_lines: int = 0) -> int:
    """0 when every trajectory was scored and every line read, else 1."""
    return 0 if set(statuses) <= {"scored"} and not bad_lines else 1


def _judge(run: _Run) -> Any:
    from calipers.judge import Judge  # noqa: PLC0415 - --help stays quick

    options = run.options
    judges = options["judge"] or (EMBEDDED,)
    _require_one(len(judges), base_url=options["base_url"], price=options["price"])
    rubric = options["rubric"]
    return Judge(
        judges if len(judges) > 1 else judges[0],
        base_url=options["base_url"] or None,
        panel=options["panel"],
        quorum=options["quorum"],
        weights=None if options["weights"] is None else _weights(options["weights"]),
        policy=options["policy"],
        own_family=options["own_family"],
        experience=not options["no_experience"],
        resolve=_resolution(options),
        reward={
            "kind": options["reward"],
            "ties": options["ties"],
            "length": options["length_control"],
            "blend": options["blend"],
            "weight": options["blend_weight"],
        },
        protocol=options["protocol"],
        orders=options["orders"],
        samples=options["samples"],
        at_once=options["at_once"],
        pairing=options["pairing"],
        aspects=dict(map(_aspect, options["aspect"])) or None,
        rubric=None if rubric is None else rubric_of(rubric),
        grading=dict(read_param(one, flag="--grading", example="mode=relative") for one in options["grading"]) or None,
        deadline=options["deadline"],
        timeout=options["timeout"],
        concurrency=_concurrency(options["concurrency"]),
        requests_per_minute=options["requests_per_minute"],
        tokens_per_minute=options["tokens_per_minute"],
        budget=dict(map(_spendable, options["budget"])) or None,
        price=None if options["price"] is None else read_price(options["price"]),
        hedge=options["hedge"],
        out_of_range=options["out_of_range"],
        seed=options["seed"],
        max_tokens=options["max_tokens"],
        context_window=options["context_window"],
        params=dict(map(read_param, options["param"])),
        reasoning=options["reasoning"],
        on_attack=options["on_attack"],
        canaries=options["canaries"],
        canary_rate=options["canary_rate"],
        ledger=options["ledger"] or _default_ledger(run.out),
        debug=options["verbose"] > 1,
    )


def _require_one(judges: int, **given: object) -> None:
    """Raise ConfigError for what belongs to one judge where there are several."""
    if judges > 1 and given["base_url"]:
        raise ConfigError(
            "--base-url: with several judges write it behind each, as in --judge vllm/qwen3@http://HOST/v1"
        )
    if judges > 1 and given["price"]:
        raise ConfigError("--price is that of one judge; for a panel give price={JUDGE: ...} in Python")


def _resolution(options: dict[str, Any]) -> dict[str, Any] | None:
    tolerance, most, unresolved = (options[name] for name in ("resolve", "most", "unresolved"))
    return None if tolerance is None else {"tolerance": tolerance, "most": most, "unresolved": unresolved}


def _aspect(text: str) -> tuple[str, float]:
    name, equals, weight = text.partition("=")
    try:
        return name, float(weight) if equals else 1.0
    except ValueError:
        raise ConfigError(f"--aspect {text}: write NAME or NAME=WEIGHT, as in correctness=2") from None


def _weights(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--weights {text}: write one number for each judge, as in 2,1,1") from None


def _default_ledger(out: str) -> str | None:
    return None if out == "-" else f"{out}.ledger.db"


def rubric_of(path: str) -> str | Rubric:
    """The rubric in a file: criteria where its name says so, else the text. Raises ConfigError."""
    if path.endswith(SUFFIXES):
        return read_rubric(path)
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"--rubric {path}: cannot be read ({why}); name a text file with the standards") from error
    if not text:
        raise ConfigError(f"--rubric {path}: the file is empty; leave --rubric out for the default rubric")
    return text


def read_param(text: str, *, flag: str = "--param", example: str = "temperature=0") -> tuple[str, Any]:
    """``KEY=VALUE`` of a flag, the value as JSON where it is JSON. Raises ConfigError."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"{flag} {text}: write KEY=VALUE, as in {example}")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value


def _concurrency(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"--concurrency {text}: write a whole number above 0, or auto")
    return int(text)


def _spendable(text: str) -> tuple[str, float]:
    kind, _, amount = text.partition("=")
    try:
        return kind, float(amount)
    except ValueError:
        raise ConfigError(f"--budget {text}: write usd=5, tokens=2e6 or calls=1000") from None


def read_price(text: str) -> tuple[float, ...]:
    """``INPUT,OUTPUT[,CACHED]`` in US dollars per million tokens. Raises ConfigError."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(
            f"--price {text}: write INPUT,OUTPUT or INPUT,OUTPUT,CACHED in US dollars per million tokens, as in 0.25,2"
        ) from None


async def _preflight(judge: Any) -> list[str]:
    """Find out what is wrong before tokens are spent; a judge that cannot be reached still serves what is recorded."""
    try:
        return list(await judge.check())
    except ConfigError as error:
        if not judge.has_recorded_answers():
            raise
        return [f"{error} Going on with the answers the ledger has."]


def _check_paths(groups: str, out: str) -> None:
    if out == "-":
        return
    path = Path(out)
    if path.is_dir():
        raise ConfigError(f"--out {out}: is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: its folder does not exist; create it first")
    if groups != "-" and path.exists() and Path(groups).exists() and path.samefile(groups):
        raise ConfigError(f"--out {out}: is the groups file itself; name another")


def _count_lines(groups: str) -> int | None:
    """How many groups a plain JSONL file has, for the time left; None where counting is not free."""
    path = Path(groups)
    if path.suffix != ".jsonl" or not path.is_file():
        return None
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
