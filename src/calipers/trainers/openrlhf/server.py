"""A server for OpenRLHF's ``--reward.remote_url``: one rollout a request, judged when its group is complete.

``python -m calipers.trainers.openrlhf.reward --judge MODEL --group-size 8``. It is one process, because all members of
a group must arrive at the same process. Not responsible for groups (``cohorts``), or for the form of OpenRLHF's replies
(``openrlhf.reward``).
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import click
from aiohttp import web

from calipers.config.arguments import require_above_zero, require_text, require_whole
from calipers.errors import CalipersError, InputError
from calipers.judging.judge import Judge
from calipers.monitoring.monitor import Monitor
from calipers.trainers.cohorts.cohort import Cohorts
from calipers.trainers.no_signal.float_rewards import complete_cohorts, run_for_floats
from calipers.trainers.no_signal.run import JudgedRun, Stop
from calipers.trainers.openrlhf.reply import judged_reply
from calipers.trainers.process.judges import JudgeLike, as_judge

_LARGEST: Final = 64 * 2**20
"""The largest request that the server accepts, in bytes; rollouts may be long."""

_COHORTS: Final = web.AppKey("cohorts", Cohorts)
_RUBRIC: Final = web.AppKey("rubric", str)
_RUN: Final = web.AppKey("run", JudgedRun)


def reward_app(
    judge: JudgeLike,
    *,
    group_size: int,
    rubric: str | None = None,
    deadline: float = 120.0,
    patience: int | None = None,
    stop: Stop | None = None,
) -> web.Application:
    """Return an aiohttp application that answers POST on any path, in OpenRLHF's form.

    A request waits until ``group_size`` rollouts of its prompt and label have arrived and are judged. A group that is
    incomplete ``deadline`` seconds after its first rollout gets one reward for all. The sum of ``deadline`` and the
    judge's own ``deadline=`` must be below OpenRLHF's 180 seconds, after which it repeats the request, which would then
    count as a member of the next group.

    After a judge refused every question, or after ``patience`` lost groups in a row (``run.JudgedRun``), every request
    gets HTTP 500 with the reason: OpenRLHF tries five times and ends its run. Raises ConfigError for invalid settings.
    """
    require_text(rubric=rubric)
    require_whole(group_size=group_size)
    require_above_zero(group_size=group_size, deadline=deadline)
    app = web.Application(client_max_size=_LARGEST)
    app[_RUN] = run_for_floats(as_judge(judge), patience=patience, stop=stop)
    app[_COHORTS] = complete_cohorts(app[_RUN], size=group_size, deadline=deadline)
    app[_RUBRIC] = rubric or ""
    app.router.add_post("/{path:.*}", _answer)
    app.on_cleanup.append(_close)
    return app


async def _answer(request: web.Request) -> web.Response:
    try:
        body = await request.json()
    except ValueError as error:
        return web.json_response({"error": f"the request is not JSON: {error}"}, status=400)
    app = request.app
    try:
        return web.json_response(await judged_reply(app[_RUN], app[_COHORTS], _read(body), rubric=app[_RUBRIC] or None))
    except InputError as error:
        return web.json_response({"error": str(error)}, status=400)
    except CalipersError as error:
        return web.json_response({"error": str(error)}, status=500)


def _read(body: Any) -> list[tuple[str, str, Any]]:
    fields = body if isinstance(body, dict) else {}
    query, prompts = _listed(fields.get("query")), _listed(fields.get("prompts"))
    labels = _listed(fields.get("labels", [None] * len(query)))
    if not query or not len(query) == len(prompts) == len(labels):
        raise InputError("a request must hold the lists 'query', 'prompts' and 'labels', of equal length")
    if not all(isinstance(text, str) for text in (*query, *prompts)):
        raise InputError("'query' and 'prompts' must hold texts")
    return list(zip(query, prompts, labels, strict=True))


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) else []


async def _close(app: web.Application) -> None:
    await app[_COHORTS].aclose()


@click.command()
@click.option("--judge", "model", required=True, help="The judge, as in openai/gpt-5-mini or vllm/Qwen/Qwen3-32B.")
@click.option("--base-url", multiple=True, help="The judge's address; repeat it to share the load.")
@click.option("--group-size", type=int, required=True, help="OpenRLHF's --rollout.n_samples_per_prompt.")
@click.option("--rubric", type=click.File(encoding="utf-8"), help="A file with the rubric.")
@click.option("--ledger", help="Where questions and answers are stored: a path or a sqlite:/// URL.")
@click.option("--deadline", type=float, default=120.0, show_default=True, help="Seconds to wait for a complete group.")
@click.option("--judge-deadline", type=float, default=50.0, show_default=True, help="Seconds to judge a group in.")
@click.option(
    "--patience", type=int, help="After so many lost groups in a row refuse every request, which ends the run."
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=int, default=5000, show_default=True)
def main(  # noqa: PLR0913, PLR0917 - the flags are the arguments
    model: str,
    base_url: tuple[str, ...],
    group_size: int,
    rubric: Any,
    ledger: str | None,
    deadline: float,
    judge_deadline: float,
    patience: int | None,
    host: str,
    port: int,
) -> None:
    """Judge OpenRLHF's rollouts, group by group: pass http://HOST:PORT/ to OpenRLHF as --reward.remote_url."""
    try:
        judge = Judge(
            model,
            base_url=base_url or None,
            ledger=ledger,
            deadline=judge_deadline,
            records={"watchers": [Monitor()]},  # writes alarms to stderr
        )
        for warning in asyncio.run(judge.check()):
            click.echo(f"warning: {warning}", err=True)
        app = reward_app(
            judge,
            group_size=group_size,
            rubric=None if rubric is None else rubric.read(),
            deadline=deadline,
            patience=patience,
        )
    except CalipersError as error:
        raise click.UsageError(str(error)) from error
    # A client that gave up and repeats its request must not count twice.
    web.run_app(app, host=host, port=port, handler_cancellation=True, print=lambda text: click.echo(text, err=True))
