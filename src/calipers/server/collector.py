"""Gathers the rollouts of a group, has it judged once, and answers all of its callers from one outcome.

A rollout stays in its group when its caller leaves, because the caller may come again.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import orjson

from calipers.errors import InputError, LedgerError
from calipers.inputs import as_group, as_trajectory
from calipers.ledger import WritableLedger, group_digest
from calipers.ledger.answers import require_object
from calipers.ledger.calls import SingleFlight
from calipers.pacing import STEPS_ARE_LONG
from calipers.server.limits import LARGE, MANY, Room, WaitingError, caller_gone, conflict, draining
from calipers.trainers.cohorts import UNNAMED, MemberResult, member_results, order_key, read_common_fields, with_ids
from calipers.trainers.run import JudgedRun
from calipers.types import GroupResult, Rubric, Trajectory, TrajectoryGroup, TrajectoryResult
from calipers.types.encoding import to_json
from calipers.types.versions import version_fields

Key: TypeAlias = tuple[str, str]
"""The run and the id of a group, under which the ledger has it."""
Answer: TypeAlias = Callable[[Key, int | None, MemberResult], Any]
"""Makes a rollout's answer from its result."""

_REMEMBERED: Final = 8192
"""The latest groups whose answers are in memory. The ledger has those of the others, if they have ids."""
_AGAIN: Final = 30.0
"""Seconds after a group was answered in which a rollout with a number, but no id, may be sent again."""
_LOST: Final = 600.0
"""Seconds after a group was judged in which a rollout whose answer was not sent may be sent again."""
_NOBODY: Final = Trajectory("?", ())
"""A rollout without messages, of which only the group's common fields are read."""
_MARK: Final = "served"
"""The key of a recorded group under which the server notes the group's name, run and size, and its digest if whole."""

NO_MESSAGES: Final = "it has no messages, so there is nothing to judge"
LATE: Final = (
    "it arrived after its group was closed, or had been reported lost: the group is judged or given up without it"
)
_ROUTING: Final = (
    "if several servers share the ledger, a proxy must send all requests for a group to the same one: route them by "
    "the header X-Group-Id"
)


@dataclass(frozen=True)
class Sent:
    """A rollout as a request brings it: the group it belongs to, what the judge gets, and what its siblings share.

    ``number`` is its index in its group; None for engines that do not number rollouts. ``held`` is the size of its
    request in bytes, and ``title`` how the log shows its group.
    """

    key: Key
    title: str
    size: int
    messages: Sequence[Mapping[str, Any]]
    shared: Mapping[str, Any]
    held: int
    number: int | None = None
    version: Any = None

    @cached_property
    def trajectory(self) -> Trajectory:
        """The rollout as a trajectory. Raises InputError."""
        read = as_trajectory(
            {"messages": self.messages}, default_id=UNNAMED if self.number is None else str(self.number)
        )
        return read if self.version is None else replace(read, metadata=version_fields(self.version))

    @cached_property
    def seen(self) -> bytes:
        """The digest of the messages."""
        return digest(self.messages)

    @cached_property
    def form(self) -> bytes:
        """The digest of what its siblings share, as it was sent."""
        return digest(self.shared)

    @cached_property
    def head(self) -> TrajectoryGroup:
        """What its siblings share, as a group without members. Raises InputError."""
        return read_common_fields(self.shared, _NOBODY)


@dataclass(frozen=True)
class Whole:
    """A group of ``run`` that a request of ``held`` bytes brings whole."""

    run: str
    group: TrajectoryGroup
    held: int

    @cached_property
    def content(self) -> str:
        """The digest of the group."""
        return group_digest(self.group)


@dataclass(slots=True, eq=False)
class Place:
    """A rollout's place in its group. ``trajectory`` is None for a rollout that cannot be judged.

    ``callers`` wait for the answer, and ``given`` is True once it was sent to one of them.
    """

    seen: bytes
    number: int | None = None
    trajectory: Trajectory | None = None
    callers: int = 0
    given: bool = False


@dataclass(slots=True, eq=False)
class Group:
    """A group that is gathered, judged or answered: ``outcome`` is the answer to every place, all at once.

    ``forms`` are digests of what its rollouts share, as they sent it; ``common`` is the digest of that as it was read.
    ``whole`` is the digest of a group that one request brought, and None for one that is gathered.
    """

    key: Key
    title: str
    size: int
    head: TrajectoryGroup
    common: bytes
    outcome: asyncio.Future[dict[Place, Any]]
    forms: set[bytes] = field(default_factory=set)
    places: list[Place] = field(default_factory=list)
    taking: bool = True
    judged: bool = False
    whole: str | None = None
    members: int = 0
    held: int = 0
    ends: float | None = None
    settled: float = 0.0
    timer: asyncio.TimerHandle | None = None


class Collector:
    """Gathers the groups of a tenant's own clients, whose rollouts have ids, or of an engine, whose rollouts have none.

    Groups with ids (``named``) are judged at the deadline ``wait`` if ``quorum`` rollouts have come, and remembered in
    the ledger. Those of an engine are judged when all their callers wait, or not at all; two rollouts of a prompt may
    have the same text, so a text that comes again is the same rollout if the caller of that place has left before its
    answer was sent. ``limit`` is in seconds from the first rollout until judging is cancelled.
    """

    def __init__(
        self,
        run: JudgedRun,
        room: Room,
        ledger: WritableLedger | None,
        answer: Answer,
        *,
        named: bool,
        wait: float,
        quorum: int | None = None,
        limit: float | None = None,
    ) -> None:
        self.run, self._room, self._ledger, self._answer = run, room, ledger, answer
        self._named, self._wait, self._quorum, self._limit = named, wait, quorum, limit
        self._score: Callable[[TrajectoryGroup], Awaitable[GroupResult]] = run.wrap(run.judge.score_group)
        self._one_of_several = ledger is not None and ledger.is_on_server
        self._groups: dict[Key, list[Group]] = {}
        self._answered: OrderedDict[Group, None] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._lookups: SingleFlight[None] = SingleFlight()
        self._draining = False

    @property
    def gathering(self) -> int:
        """Return the number of groups that are being gathered or judged."""
        return sum(len(groups) for groups in self._groups.values()) - len(self._answered)

    # --- rollouts with ids

    async def of_rollout(self, sent: Sent, seconds: float | None) -> Any:
        """Return the answer to a rollout that has an id, when its group has been judged.

        The rollout stays in its group after ``seconds``, with WaitingError, and if this is cancelled. Raises
        RefusalError for a rollout that contradicts its siblings, or for which there is no room; InputError for one that
        cannot be read; and what the judge raises.
        """
        self.run.require_running()
        group = await self._known(sent.key)
        trajectory = sent.trajectory
        if group is None:
            group = self._begun(sent)
        elif group.whole is not None:
            raise conflict(f"group {sent.title!r} was sent as a whole before; give each group of a run its own id")
        elif group.size != sent.size:
            raise conflict(
                f"group {sent.title!r} has group_size {group.size}, not {sent.size}; if this rollout belongs to "
                "another training run, name the run"
            )
        self._require_shared(group, sent)
        place = next((spot for spot in group.places if spot.number == sent.number), None)
        if place is not None and place.seen == digest([]):  # as after a restart: the ledger has no lost rollout
            place = None
        elif place is not None:
            if place.seen not in {sent.seen, digest(trajectory.messages)}:
                raise conflict(
                    f"rollout {sent.number} of group {sent.title!r} arrived before with other messages; give each "
                    "rollout of a group its own index, and each group of a run its own group_id"
                )
        elif group.taking:
            place = self._entered(group, sent, trajectory)
        elif self._draining and not group.judged:  # it may have been sent away just now: the next server knows
            raise draining()
        if place is None or not sent.messages:
            return self._answer(sent.key, sent.number, MemberResult(None, LATE if sent.messages else NO_MESSAGES))
        return await _answer_in(group, place, seconds)

    async def of_whole(self, whole: Whole, seconds: float | None) -> bytes:
        """Return the result of a group that a request brings whole, as JSON.

        The same group again is the same request. The judge keeps the group after ``seconds``, with WaitingError, and if
        this is cancelled. Raises RefusalError if there is no room, or if its id names another group of the run; and
        what the judge raises.
        """
        self.run.require_running()
        group, key, content, size = whole.group, (whole.run, whole.group.group_id), whole.content, whole.held
        known = await self._known(key)
        if known is None:
            members = len(group.trajectories)
            self._require_room(members)
            self._room.hold(size, members=members)
            known = self._opened(key, group.group_id, members, replace(group, trajectories=()))
            known.whole, known.taking, known.members, known.held = content, False, members, size
            known.places.append(Place(b""))
            self._groups[key] = [known]
            extra = {**group.extra, **_mark(key, members, whole=content)}
            named = replace(group, group_id=recorded_name(*key), extra=extra)
            self._spawn(self._judged(known, named, known.places))
        elif known.whole != content:
            raise conflict(f"group {group.group_id!r} was sent before with other content; give it an id of its own")
        answer: bytes = await _answer_in(known, known.places[0], seconds)
        return answer

    # --- rollouts of engines

    async def of_engine(self, rollouts: Sequence[Sent], gone: Callable[[], Awaitable[None]]) -> list[Any]:
        """Return the answers to an engine's rollouts once all are known.

        Raises RefusalError if the caller leaves before, and as ``of_rollout`` does.
        """
        self.run.require_running()
        places: list[tuple[Group, Place]] = []
        delivered = False
        left, answered = asyncio.ensure_future(gone()), asyncio.get_running_loop().create_future()
        try:
            for sent in rollouts:
                await asyncio.sleep(0)  # another caller's turn: there may be thousands
                try:
                    trajectory = sent.trajectory
                except InputError:  # no text of a policy may end a training run
                    trajectory = _NOBODY
                places.append(self._taken(sent, trajectory))
            if outcomes := {group.outcome for group, _ in places}:
                answered = asyncio.ensure_future(asyncio.wait(outcomes))
                await asyncio.wait((answered, left), return_when=asyncio.FIRST_COMPLETED)
                if not answered.done():
                    raise caller_gone()
            answers = [group.outcome.result()[place] for group, place in places]
            delivered = not left.done()
            return answers
        finally:
            left.cancel()
            answered.cancel()
            for _, place in places:
                place.callers -= 1
                place.given = place.given or delivered

    def _taken(self, sent: Sent, trajectory: Trajectory) -> tuple[Group, Place]:
        """Return the place of an engine's rollout: one whose caller has left, or a new one."""
        seen, now = sent.seen, _now()
        for group in self._groups.get(sent.key, ()):
            again = sent.number is not None and (not group.settled or now - group.settled < _AGAIN)
            for place in group.places:
                same = (place.seen, place.number) == (seen, sent.number)
                if same and (again or (place.callers == 0 and not place.given)):
                    place.callers += 1
                    self._close_if_complete(group)
                    return group, place
        last = self._last(sent.key)
        late = last is not None and last.settled and not last.judged and now - last.settled < self._wait
        if last is not None and late and len(last.places) < last.size:  # it was given up without this rollout
            place = Place(seen, sent.number, callers=1)
            last.places.append(place)
            last.outcome.result()[place] = self._answer(last.key, place.number, MemberResult(None, LATE))
            return last, place
        group = last if last is not None and last.taking else self._begun(sent)
        self._require_shared(group, sent)
        return group, self._entered(group, sent, trajectory, callers=1)

    # --- gathering

    def _last(self, key: Key) -> Group | None:
        groups = self._groups.get(key)
        return groups[-1] if groups else None

    def _require_room(self, size: int) -> None:
        if self._draining:
            raise draining()
        self._room.admit(size)

    def _begun(self, sent: Sent) -> Group:
        """Return a new group for its first rollout; it is registered when the rollout has entered."""
        self._require_room(sent.size)
        head = replace(sent.head, group_id=recorded_name(*sent.key), extra=_mark(sent.key, sent.size))
        return self._opened(sent.key, sent.title, sent.size, head)

    def _opened(self, key: Key, title: str, size: int, head: TrajectoryGroup) -> Group:
        return Group(key, title, size, head, _digest_of_shared(head), asyncio.get_running_loop().create_future())

    def _require_shared(self, group: Group, sent: Sent) -> None:
        """Raise RefusalError unless a rollout shares with its siblings what they share."""
        if sent.form in group.forms:
            return
        if _digest_of_shared(sent.head) != group.common:
            raise conflict(
                f"group {group.title!r} has another context, tools or rubric than this rollout; if it belongs to "
                "another training run, name the run"
            )
        group.forms.add(sent.form)

    def _entered(self, group: Group, sent: Sent, trajectory: Trajectory, *, callers: int = 0) -> Place:
        """Add a rollout to its group; without messages it is lost. Raises RefusalError if there is no room."""
        self._room.hold(sent.held, held=group.held)
        if not group.places:
            self._groups.setdefault(group.key, []).append(group)
            group.timer = asyncio.get_running_loop().call_later(self._wait, partial(self._close, group))
            group.ends = None if self._limit is None else _now() + self._limit
        group.held += sent.held
        group.members += 1
        place = Place(sent.seen, sent.number, trajectory if trajectory.messages else None, callers)
        group.places.append(place)
        self._close_if_complete(group)
        return place

    def _needed(self, group: Group) -> int:
        return group.size if self._quorum is None else min(self._quorum, group.size)

    def _close_if_complete(self, group: Group) -> None:
        if not group.taking:
            return
        lost = sum(place.trajectory is None for place in group.places)
        here = len(group.places) if self._named else sum(place.callers > 0 for place in group.places)
        if here >= group.size or group.size - lost < self._needed(group):
            self._close(group)

    def _close(self, group: Group) -> None:
        """Judge the group, or give it up if it has too few rollouts. It takes no more of them."""
        if not group.taking:
            return
        group.taking = False
        if group.timer is not None:
            group.timer.cancel()
        if not self._named:  # a caller that left, and did not come again, is replaced by one that waits
            group.places = sorted(group.places, key=lambda place: place.callers == 0)[: group.size]
        judged = [place for place in group.places if place.trajectory is not None]
        whole = len(group.places) == group.size
        if len(judged) >= self._needed(group) and (whole or not self._one_of_several):
            members = sorted(judged, key=lambda place: order_key(_trajectory(place)))
            named = with_ids(list(map(_trajectory, members)))
            self._spawn(self._judged(group, replace(group.head, trajectories=named), members))
            return
        missing, lost = group.size - len(group.places), len(group.places) - len(judged)
        why = f"too few members of its group arrived to judge it: {len(judged)} of {group.size}"
        why = f"{why}, with {lost} lost and {missing} still missing"
        if self._one_of_several and not whole:
            why = f"{why}; {_ROUTING}"
        if lost:
            self._give_up(group, why)
        else:
            self._spawn(self._answered_before(group, why))

    async def _judged(self, group: Group, judged: TrajectoryGroup, members: Sequence[Place]) -> None:
        STEPS_ARE_LONG.set(group.held > LARGE or group.members > MANY)
        try:
            async with asyncio.timeout_at(group.ends) as limited:
                result = await self._score(judged)
            if group.whole is not None:
                answers: dict[Place, Any] = {members[0]: _whole_answer(group.key, result.to_dict())}
            else:
                answers = self._answers(group, members, result)
        except Exception as error:  # noqa: BLE001 - raised in every caller that waits
            if limited.expired():
                self._give_up(group, f"its group was not judged within {self._limit:g} seconds")
            else:
                self._fail(group, error)
        else:
            group.judged = True
            self._settle(group, answers)

    def _answers(self, group: Group, members: Sequence[Place], result: GroupResult) -> dict[Place, Any]:
        rows = member_results(result, len(members), self._needed(group))
        pairs = zip(members, rows, strict=True)
        return {place: self._answer(group.key, place.number, row) for place, row in pairs}

    async def _answered_before(self, group: Group, why: str) -> None:
        """Answer an incomplete group as the one before it, if its rollouts are those of that group.

        Their answers were sent and never arrived, perhaps that the group failed: it is not lost again. Constants would
        be half a group of rewards and half of constants.
        """
        earlier = [past for past in reversed(self._groups.get(group.key, ())) if past.judged]
        try:
            recorded = None if earlier else await self._restored(group.key, failed=True)
        except LedgerError:
            recorded = None
        for before in [*earlier, *([] if recorded is None else [recorded])]:
            answers, free = dict[Place, Any](), list(before.places)
            for place in group.places:
                seen = {place.seen, digest(_trajectory(place).messages)}
                same = next((spot for spot in free if spot.seen in seen and spot.number in {None, place.number}), None)
                if same is None:
                    break
                free.remove(same)
                answers[place] = before.outcome.result()[same]
            else:
                group.judged = True
                return self._settle(group, answers)
        return self._give_up(group, why)

    def _give_up(self, group: Group, why: str) -> None:
        self.run.lost_before_judging(group.title, why)
        nothing = MemberResult(None, why)
        self._settle(group, {place: self._answer(group.key, place.number, nothing) for place in group.places})

    def _settle(self, group: Group, answers: dict[Place, Any]) -> None:
        """Give all callers of a group their answers, at the same moment, and remember them."""
        if group.outcome.done():
            return
        group.outcome.set_result(answers)
        group.settled, group.taking = _now(), False
        self._room.release(group.members, group.held)
        for place in group.places:
            place.trajectory = None
        self._remember(group)

    def _fail(self, group: Group, error: Exception) -> None:
        """Raise ``error`` in all callers of a group. Nothing was answered, so its rollouts may come again."""
        if group.outcome.done():
            return
        group.taking = False
        if group.timer is not None:
            group.timer.cancel()
        group.outcome.set_exception(error)
        group.outcome.exception()  # marks it as retrieved: perhaps nobody waits
        self._room.release(group.members, group.held)
        self._forget(group)

    def _remember(self, group: Group) -> None:
        self._answered[group] = None
        while self._answered:
            oldest = next(iter(self._answered))
            old = not self._named and _now() - oldest.settled > max(_LOST, self._wait)
            if not old and len(self._answered) <= _REMEMBERED:
                break
            del self._answered[oldest]
            self._forget(oldest)

    def _forget(self, group: Group) -> None:
        groups = self._groups.get(group.key, [])
        if group in groups:
            groups.remove(group)
        if not groups:
            self._groups.pop(group.key, None)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- the ledger

    async def _known(self, key: Key) -> Group | None:
        """Return a group that is gathered here, or was judged, also before a restart or by another server."""
        if self._last(key) is None and self._ledger is not None:
            await self._lookups.run(recorded_name(*key), partial(self._recall, key))
        return self._last(key)

    async def _recall(self, key: Key) -> None:
        restored = await self._restored(key)
        if restored is not None and self._last(key) is None:
            self._groups[key] = [restored]
            self._remember(restored)

    async def _restored(self, key: Key, *, failed: bool = False) -> Group | None:
        """Return an answered group from the ledger, or None. Raises LedgerError.

        One that failed is judged again, and so returned only if asked for (``failed``).
        """
        query = "SELECT source, result FROM groups WHERE group_id = ? ORDER BY rowid DESC LIMIT 100"
        if (ledger := self._ledger) is None:
            return None
        for row in await ledger.look_up(query, (recorded_name(*key),)):
            source, result = (ledger.decoded(stored, require_object) for stored in row)
            marked = source.get(_MARK)  # another command may have recorded a group of the same name
            if isinstance(marked, dict) and (marked.get("run"), marked.get("group_id")) == key:
                again = result.get("status") == "failed" and not failed
                return None if again else self._of_record(key, marked, as_group(source), result)
        return None

    def _of_record(
        self, key: Key, marked: Mapping[str, Any], recorded: TrajectoryGroup, result: Mapping[str, Any]
    ) -> Group:
        group = self._opened(key, key[1], marked["size"], recorded)
        group.taking, group.judged, group.settled, group.whole = False, True, _now(), marked["whole"]
        if group.whole is not None:
            answers: dict[Place, Any] = {Place(b""): _whole_answer(key, result)}
        else:
            places = [
                Place(digest(trajectory.messages), int(trajectory.id) if self._named else None)
                for trajectory in recorded.trajectories
            ]
            answers = self._answers(group, places, _result(result))
        group.places = list(answers)
        group.outcome.set_result(answers)
        return group

    # --- the end

    def drain(self) -> None:
        """Begin no group any more, and ask the callers of groups that wait for rollouts to come again."""
        self._draining = True
        for group in [group for groups in self._groups.values() for group in groups if group.taking]:
            self._fail(group, draining())

    def release(self) -> None:
        """Ask the callers of all groups to come again, also of those that are being judged."""
        for group in [group for groups in self._groups.values() for group in groups if not group.outcome.done()]:
            self._fail(group, draining())

    async def finish(self) -> None:
        """Wait until all groups that are complete are judged, so that they are recorded and not asked again."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def aclose(self) -> None:
        """Release all callers. No task or timer remains."""
        self.drain()
        self.release()
        for task in (tasks := tuple(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def digest(value: Any) -> bytes:
    """Return a digest of a JSON value of a request. The order of keys does not matter."""
    try:
        text = orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer of more than 64 bits
        text = json.dumps(value, default=_plain, sort_keys=True).encode()
    return blake2b(text, digest_size=16).digest()


def recorded_name(run: str, group_id: str) -> str:
    """Return the id under which the ledger has a group of the server."""
    # The first colon ends the run, whose own colons are written otherwise. A colon at the beginning is that of a group
    # without a run, whose id has a colon itself.
    run = run.replace("%", "%25").replace(":", "%3A")
    return f"{run}:{group_id}" if run or ":" in group_id else group_id


def _plain(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else list(value)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _mark(key: Key, size: int, *, whole: str | None = None) -> dict[str, Any]:
    return {_MARK: {"run": key[0], "group_id": key[1], "size": size, "whole": whole}}


def _whole_answer(key: Key, result: Mapping[str, Any]) -> bytes:
    """Return the answer to a group that came whole: its result, under the group's own id."""
    return to_json({name: value for name, value in {**result, "group_id": key[1]}.items() if name != _MARK})


def _digest_of_shared(group: TrajectoryGroup) -> bytes:
    rubric = group.rubric.to_dict() if isinstance(group.rubric, Rubric) else group.rubric
    return digest([group.context, group.tools, rubric])


async def _answer_in(group: Group, place: Place, seconds: float | None) -> Any:
    """Return a place's answer once its group has one. Raises WaitingError after ``seconds``; the group stays."""
    if not group.outcome.done():
        await asyncio.wait((group.outcome,), timeout=seconds)
    if not group.outcome.done():
        raise WaitingError
    return group.outcome.result()[place]


def _trajectory(place: Place) -> Trajectory:
    assert place.trajectory is not None  # noqa: S101 - only asked of places that have one
    return place.trajectory


def _result(recorded: Mapping[str, Any]) -> GroupResult:
    """Return a recorded result with what the answers for its rollouts need."""
    names = ("id", "status", "reward", "score", "stderr", "explanation", "reason")
    try:
        rows = tuple(TrajectoryResult(**{name: row[name] for name in names}) for row in recorded["trajectories"])
        return GroupResult(recorded["group_id"], recorded["status"], rows)
    except (KeyError, TypeError) as error:
        raise LedgerError("the ledger is damaged: a group's result has not the form that calipers writes") from error
