"""The routes of the server, a row each: how a request is read as rollouts, and how their answers are written.

Clients of our own post rollouts with ids to ``/v1/rollouts`` and whole groups to ``/v1/groups``. OpenRLHF, slime, miles
and NeMo-Gym post what their own reward clients send. They need a number for every rollout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from calipers.inputs import as_group
from calipers.server import forms
from calipers.server.collector import LATE, Key, Sent, digest
from calipers.server.limits import RefusalError, invalid
from calipers.server.replies import RolloutAnswer
from calipers.trainers.cohorts import MemberResult, NamedKey, key_of_prompt
from calipers.trainers.nemo_gym import group_key as gym_key
from calipers.trainers.nemo_gym import items_for_judge, prompt_of
from calipers.trainers.openrlhf import group_key, member_of, shared_by
from calipers.trainers.rewards import NEUTRAL, with_exact_ties
from calipers.trainers.rows import assistant_message, prompt_messages, read_label_of_row, rubric_of_row
from calipers.trainers.run import float_reward, is_group_scored
from calipers.types import TrajectoryGroup
from calipers.types.encoding import printable, to_json

_ENCODER: Final = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the query of a request: ``form`` is what its value must be."""

    name: str
    description: str
    form: Any
    default: Any = None

    def read(self, query: Mapping[str, str]) -> Any:
        """Return the value in the query of a URL, or the default. Raises RefusalError for what cannot be one."""
        text = query.get(self.name)
        if text is None:
            return self.default
        try:
            return msgspec.convert(text, self.form, strict=False)
        except msgspec.ValidationError as error:
            raise invalid(f"?{self.name}={printable(text[:40])} in the URL: {error}") from None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that passed the checks of all routes. ``size`` is the server's ``--group-size``."""

    form: Any
    body: bytes
    parameters: Mapping[str, Any]
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
        size: int | None = stated or self.parameters["group_size"] or self.size
        if size is None:
            why = "add ?group_size=N to the URL, or start the server with --group-size N"
            raise invalid(f"the size of the group is not known: {why}")
        return size


@dataclass(frozen=True, slots=True)
class Whole:
    """A group that one request brings whole."""

    group: TrajectoryGroup


Work: TypeAlias = Whole | Sequence[Sent]
"""What a request asks for: a whole group, or rollouts. NeMo-Gym's beginning of a session asks for none."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route of the server: POST to ``path``, with JSON of the ``form``.

    ``read`` returns what a request asks for, and ``write`` an answer of the form ``answer``. ``waits``: the answer may
    take long, and the request may say how long it waits. ``engine`` is None for rollouts that have ids.
    """

    path: str
    name: str
    summary: str
    form: Any
    read: Callable[[Asked], Work]
    write: Callable[[Asked, Sequence[Any]], bytes]
    answer: Any = dict[str, Any]
    engine: str | None = None
    parameters: tuple[Parameter, ...] = ()
    waits: bool = False

    def asked(self, body: bytes, query: Mapping[str, str], size: int | None) -> Asked:
        """Return a request, checked. Raises RefusalError (400, 422)."""
        parameters = {one.name: one.read(query) for one in self.parameters}
        try:
            return Asked(_decoder(self.form).decode(body), body, parameters, size)
        except msgspec.ValidationError as error:
            raise invalid(str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RefusalError(400, "bad_json", f"the request is not JSON: {error}") from None
        except RecursionError:
            raise RefusalError(400, "bad_json", "the request is JSON that is nested too deeply") from None


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
    one = asked.form
    if one.index >= one.group_size:
        raise invalid(f"index {one.index} is not below group_size {one.group_size}; it counts from 0")
    shared = {"context": one.context or [], "tools": one.tools, "rubric": one.rubric}
    title = f"{one.run}:{one.group_id}" if one.run else one.group_id
    return [
        Sent(
            (one.run, one.group_id),
            title,
            one.group_size,
            one.messages,
            shared,
            len(asked.body),
            one.index,
            one.policy_version,
        )
    ]


def _read_group(asked: Asked) -> Work:
    return Whole(as_group({name: value for name, value in asked.data.items() if name != "run"}))


# --- engines


def engine_answer(_: Key, __: int | None, member: MemberResult) -> tuple[float, float]:
    """Return the reward for an engine's rollout, or the constant of its group, and ``judge_scored``."""
    return float_reward(member), float(is_group_scored(member))


def _sent(
    asked: Asked,
    engine: str,
    key: NamedKey,
    size: int,
    messages: Sequence[Any],
    shared: Mapping[str, Any],
    *,
    number: int | None = None,
    of: int = 1,
) -> Sent:
    """Return a rollout of an engine, whose groups have a key in place of an id. ``of`` came in the same request."""
    whole = key.within(asked.parameters["run"], size)
    # No run of our own clients has a name that begins with a slash.
    name = (f"/{engine}", f"{whole} {digest([repr(part) for part in whole.parts]).hex()}")
    return Sent(name, str(whole), size, messages, {"context": [], **shared}, len(asked.body) // of, number)


def _read_openrlhf(asked: Asked) -> Work:
    query, prompts = _listed(asked.form.query), _listed(asked.form.prompts)
    labels = [None] * len(query) if asked.form.labels is None else _listed(asked.form.labels)
    if not query or not len(query) == len(prompts) == len(labels):
        raise invalid("a request must hold the lists 'query', 'prompts' and 'labels', of equal length")
    size, rows = asked.group_size(), list(zip(query, prompts, labels, strict=True))
    return [
        _sent(asked, "openrlhf", group_key(row), size, member_of(row)["messages"], shared_by(row, None), of=len(rows))
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


def _remote_rm(engine: str) -> Route:
    def read(asked: Asked) -> Work:
        samples = asked.form if isinstance(asked.form, list) else [asked.form]
        if not samples:
            raise invalid("the list of samples is empty")
        first = samples[0]
        if any((one.prompt, one.label) != (first.prompt, first.label) for one in samples):
            raise invalid("the samples of a group have different prompts or labels; send each group by itself")
        rubric = read_label_of_row(first.label, None)[0]
        said = [[*prompt_messages(one.prompt), assistant_message(one.response)] for one in samples]
        if isinstance(asked.form, list):
            group = as_group({"trajectories": [{"messages": one} for one in said], "rubric": rubric})
            return Whole(group)
        key = key_of_prompt(first.prompt, digest([first.prompt, first.label]))
        return [_sent(asked, engine, key, asked.group_size(), said[0], {"rubric": rubric})]

    def write(asked: Asked, found: Sequence[Any]) -> bytes:
        is_list, named = isinstance(asked.form, list), asked.parameters["reward_key"]
        pairs = _of_whole(found) if is_list else found
        rewards = [{named: reward, "judge_scored": scored} if named else reward for reward, scored in pairs]
        return to_json(rewards if is_list else rewards[0])

    return Route(
        path=f"/{engine}/remote_rm",
        name=engine,
        summary=f"--rm-url of {engine}, with --rm-type remote_rm. {_CONSTANT} A list of samples is a whole group.",
        form=forms.RemoteSample | list[forms.RemoteSample],
        answer=float | dict[str, float] | list[float | dict[str, float]],
        read=read,
        write=write,
        engine=engine,
        parameters=(_GROUP_SIZE, _RUN, _REWARD_KEY),
    )


def _of_whole(found: Sequence[Any]) -> list[tuple[float, float]]:
    """Return the reward of each rollout of a whole group; the constant for all if any of them has none."""
    result: dict[str, Any] = msgspec.json.decode(found[0])
    rewards = with_exact_ties([one["reward"] for one in result["trajectories"]])
    scored = None not in rewards
    return [(reward if scored and reward is not None else NEUTRAL, float(scored)) for reward in rewards]


def _read_gym(asked: Asked) -> Work:
    row = asked.data
    shared = {"context": prompt_of(row), "rubric": rubric_of_row(row, None)}
    size, items = asked.group_size(asked.form.group_size), items_for_judge(asked.form.response.output)
    return [_sent(asked, "nemo_gym", gym_key(row), size, items, shared, number=asked.form.rollout)]


def _write_gym(asked: Asked, found: Sequence[Any]) -> bytes:
    return to_json({**asked.data, "reward": found[0][0], "judge_scored": found[0][1]})


def _read_comparison(asked: Asked) -> Work:
    members = [{"messages": items_for_judge(one.output)} for one in asked.form.response_objs]
    group = {"context": asked.form.conversation_history, "trajectories": members, "rubric": asked.form.principle}
    return Whole(as_group(group))


def _write_comparison(_: Asked, found: Sequence[Any]) -> bytes:
    pairs = _of_whole(found)
    metrics = {"judge_scored": pairs[0][1]}
    return to_json({"rewards": [reward for reward, _ in pairs], "metrics": metrics, "comparison_results": None})


_CONSTANT: Final = "If any rollout of a group stays unscored, all of the group get 0.5."
_NAME: Final[Any] = Annotated[str, msgspec.Meta(max_length=128, pattern="^[A-Za-z0-9._-]*$")]
_GROUP_SIZE: Final = Parameter(
    "group_size", "The number of rollouts of a prompt. Default: the server's --group-size.", forms.Size
)
_RUN: Final = Parameter("run", "The training run: rollouts of two runs are never in one group.", _NAME, default="")
_REWARD_KEY: Final = Parameter(
    "reward_key",
    "Answer with an object that has the reward under this key (the engine's --reward-key), and judge_scored.",
    _NAME,
)

PATIENCE_OF: Final = {"openrlhf": 180.0, "slime": 120.0, "miles": 300.0, "nemo_gym": None}
"""Seconds after which an engine gives up a request and sends it again; None means that it waits for ever.

OpenRLHF 0.11.2: its agent's HTTP client. slime 0.3.1: its shared session. miles: aiohttp's default. NeMo-Gym 0.5.1:
none.
"""

ROUTES: Final = (
    Route(
        path="/v1/rollouts",
        name="scoreRollout",
        summary="Score a rollout against its siblings, which other requests bring. Held until the group is judged.",
        form=forms.Rollout,
        answer=RolloutAnswer,
        read=_read_rollout,
        write=lambda _, found: _ENCODER.encode(found[0]),
        waits=True,
    ),
    Route(
        path="/v1/groups",
        name="scoreGroup",
        summary="Score a whole group: an object of a groups file, answered with a line of a result file.",
        form=forms.Group,
        read=_read_group,
        write=lambda _, found: found[0],
        waits=True,
    ),
    Route(
        path="/openrlhf",
        name="openrlhf",
        summary=f"OpenRLHF's --reward.remote_url. {_CONSTANT}",
        form=forms.OpenRlhfRequest,
        read=_read_openrlhf,
        write=_write_openrlhf,
        engine="openrlhf",
        parameters=(_GROUP_SIZE, _RUN),
    ),
    _remote_rm("slime"),
    _remote_rm("miles"),
    Route(
        path="/verify",
        name="nemoGymVerify",
        summary=f"NeMo-Gym's /verify. {_CONSTANT}",
        form=forms.GymRow,
        read=_read_gym,
        write=_write_gym,
        engine="nemo_gym",
        parameters=(_GROUP_SIZE, _RUN),
    ),
    Route(
        path="/compare",
        name="nemoGymCompare",
        summary=f"NeMo-Gym's genrm_compare: a whole group. {_CONSTANT}",
        form=forms.GymComparison,
        read=_read_comparison,
        write=_write_comparison,
        engine="nemo_gym",
        parameters=(_RUN,),
    ),
    Route(
        path="/seed_session",
        name="nemoGymSeedSession",
        summary="NeMo-Gym's agents send this before each rollout. It does nothing.",
        form=Any,
        read=lambda _: (),
        write=lambda _, __: b"{}",
        engine="nemo_gym",
    ),
)
