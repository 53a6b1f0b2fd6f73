"""The routes of the server, a row each: how a request is read as rollouts, and how their answers are written.

Clients of our own post rollouts with ids to ``/v1/rollouts`` and whole groups to ``/v1/groups``. OpenRLHF, slime and
NeMo-Gym post what their own reward clients send. They need a number for every rollout.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

import msgspec

from calipers.inputs import as_group
from calipers.server import forms
from calipers.server.client import RolloutAnswer
from calipers.server.collector import LATE, Key, Sent, Whole, digest
from calipers.server.limits import RefusalError, invalid
from calipers.trainers import cohorts
from calipers.trainers.cohorts import MemberResult, key_of_prompt
from calipers.trainers.nemo_gym import group_key as gym_key
from calipers.trainers.nemo_gym import items_for_judge, prompt_of
from calipers.trainers.openrlhf import group_key, member_of, shared_by
from calipers.trainers.rows import assistant_message, prompt_messages, read_label_of_row, rubric_of_row
from calipers.trainers.run import float_reward, is_group_scored
from calipers.types.encoding import to_json

_ENCODER: Final = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that passed the checks of all routes. ``size`` is the server's ``--group-size``."""

    form: Any
    body: bytes
    query: forms.Query
    size: int | None = None

    @property
    def data(self) -> Any:
        """The body with the fields that its form does not name. Raises RefusalError for a number that is none."""
        try:
            return msgspec.json.decode(self.body)
        except msgspec.ValidationError as error:
            raise invalid(str(error)) from None

    def group_size(self, stated: int | None = None) -> int:
        """Return the size of an engine's group. Raises RefusalError if nobody says it."""
        size = stated or self.query.group_size or self.size
        if size is None:
            why = "add ?group_size=N to the URL, or start the server with --group-size N"
            raise invalid(f"the size of the group is not known: {why}")
        return size


Work: TypeAlias = Whole | Sequence[Sent]
"""What a request asks for: a whole group, or rollouts. NeMo-Gym's beginning of a session asks for none."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the server: POST to ``path``, with JSON of the ``form``.

    ``read`` returns what a request asks for, and ``write`` the answer. ``waits``: the answer may take long, and the
    request may say how long it waits. ``engine`` is None for rollouts that have ids.
    """

    path: str
    form: Any
    read: Callable[[Asked], Work]
    write: Callable[[Asked, Sequence[Any]], bytes]
    engine: str | None = None
    waits: bool = False

    def asked(self, body: bytes, query: Mapping[str, str], size: int | None) -> Asked:
        """Return a request, checked. Raises RefusalError (400, 422)."""
        try:
            query_form = msgspec.convert(query, forms.Query, strict=False)
        except msgspec.ValidationError as error:
            raise invalid(f"the query of the URL: {error}") from None
        try:
            return Asked(_decoder(self.form).decode(body), body, query_form, size)
        except msgspec.ValidationError as error:
            raise invalid(str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RefusalError(
                400, "bad_json", _why_not_json(body) or f"the request is not JSON in UTF-8: {error}"
            ) from None
        except RecursionError:
            raise RefusalError(400, "bad_json", "the request is JSON that is nested too deeply") from None


def _why_not_json(body: bytes) -> str | None:
    """Return what is wrong with JSON that only Python's own reader accepts; None if it does not accept it either."""
    try:
        json.loads(body.decode(), parse_constant=int)  # which refuses NaN
    except (ValueError, RecursionError):
        return None
    return "the request holds half of a surrogate pair, such as \\ud800, which no text can have; replace it"


@cache
def _decoder(form: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(form)


# --- rollouts with ids, and whole groups


def rollout_answer(key: Key, index: int | None, member: MemberResult) -> RolloutAnswer:
    """Return the answer for a rollout with an id, of a group that has been judged or given up."""
    row = member.member
    nobody = "late" if member.reason == LATE else "not_judged"
    status: Any = nobody if row is None else "too_few" if row.reward is not None else row.status
    return RolloutAnswer(
        group_id=key[1],
        index=index or 0,
        status="scored" if member.reward is not None else status,
        reward=member.reward,
        score=None if row is None else row.score,
        stderr=None if row is None else row.stderr,
        reason=member.reason,
        rewarded=member.rewarded,
    )


def _read_rollout(asked: Asked) -> Work:
    form = asked.form
    if form.index >= form.group_size:
        raise invalid(f"index {form.index} is not below group_size {form.group_size}; it counts from 0")
    shared = {"context": form.context or [], "tools": form.tools, "rubric": form.rubric}
    title = f"{form.run}:{form.group_id}" if form.run else form.group_id
    return [
        Sent(
            *((form.run, form.group_id), title, form.group_size, form.messages, shared, len(asked.body)),
            number=form.index,
            version=form.policy_version,
        )
    ]


def _read_group(asked: Asked) -> Work:
    group = as_group({name: value for name, value in asked.data.items() if name != "run"})
    return Whole(asked.form.run, group, len(asked.body))


# --- engines


def engine_answer(_: Key, __: int | None, member: MemberResult) -> tuple[float, float]:
    """Return the reward for an engine's rollout, or the constant of its group, and ``judge_scored``."""
    return float_reward(member), float(is_group_scored(member))


def _sent(
    asked: Asked,
    engine: str,
    key: cohorts.Key,
    size: int,
    messages: Sequence[Any],
    shared: Mapping[str, Any],
    *,
    number: int | None = None,
    of: int = 1,
) -> Sent:
    """Return a rollout of an engine, whose groups have a key in place of an id. ``of`` came in the same request."""
    prompt, *parts = key
    run = asked.query.run
    title = f"{run}: {prompt}" if run else str(prompt)
    # No run of our own clients has a name that begins with a slash.
    name = (f"/{engine}", f"{title} {digest([repr(part) for part in (run, size, *parts)]).hex()}")
    return Sent(name, title, size, messages, {"context": [], **shared}, len(asked.body) // of, number)


def _read_openrlhf(asked: Asked) -> Work:
    query, prompts = _listed(asked.form.query), _listed(asked.form.prompts)
    labels = [None] * len(query) if asked.form.labels is None else _listed(asked.form.labels)
    if not query or not len(query) == len(prompts) == len(labels):
        raise invalid("a request must hold the lists 'query', 'prompts' and 'labels', of equal length")
    size, rows = asked.group_size(), list(zip(query, prompts, labels, strict=True))
    return [
        _sent(asked, "openrlhf", group_key(row), size, member_of(row)["messages"], shared_by(row), of=len(rows))
        for row in rows
    ]


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else value


def _write_openrlhf(_: Asked, found: Sequence[Any]) -> bytes:
    """Return plain numbers for one rollout: a list would give OpenRLHF's tensor two dimensions."""
    rewards: Any = [reward for reward, _ in found]
    scored: Any = [scored for _, scored in found]
    if len(found) == 1:
        (rewards,), (scored,) = rewards, scored
    return to_json({"rewards": rewards, "scores": rewards, "extra_logs": {"judge_scored": scored}})


def _read_remote_rm(asked: Asked) -> Work:
    sample = asked.form
    messages = [*prompt_messages(sample.prompt), assistant_message(sample.response)]
    key = key_of_prompt(sample.prompt, digest([sample.prompt, sample.label]))
    shared = {"rubric": read_label_of_row(sample.label)[0]}
    return [_sent(asked, "slime", key, asked.group_size(), messages, shared)]


def _read_gym(asked: Asked) -> Work:
    row = asked.data
    shared = {"context": prompt_of(row), "rubric": rubric_of_row(row)}
    size, items = asked.group_size(asked.form.group_size), items_for_judge(asked.form.response.output)
    return [_sent(asked, "nemo_gym", gym_key(row), size, items, shared, number=asked.form.rollout)]


def _write_gym(asked: Asked, found: Sequence[Any]) -> bytes:
    return to_json({**asked.data, "reward": found[0][0], "judge_scored": found[0][1]})


PATIENCE_OF: Final = {"openrlhf": 180.0, "slime": 120.0, "nemo_gym": None}
"""Seconds after which an engine gives up a request and sends it again; None means that it waits for ever.

OpenRLHF 0.11.2: its agent's HTTP client. slime 0.3.1: its shared session. NeMo-Gym 0.5.1: none.
"""

ROUTES: Final = (
    Route("/v1/rollouts", forms.Rollout, _read_rollout, lambda _, found: _ENCODER.encode(found[0]), waits=True),
    Route("/v1/groups", forms.Group, _read_group, lambda _, found: found[0], waits=True),
    Route("/openrlhf", forms.OpenRlhfRequest, _read_openrlhf, _write_openrlhf, "openrlhf"),
    Route("/slime/remote_rm", forms.RemoteSample, _read_remote_rm, lambda _, found: to_json(found[0][0]), "slime"),
    Route("/verify", forms.GymRow, _read_gym, _write_gym, "nemo_gym"),
    # NeMo-Gym's agents send this before each rollout.
    Route("/seed_session", Any, lambda _: (), lambda _, __: b"{}", "nemo_gym"),
)
