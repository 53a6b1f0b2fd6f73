"""Who gets which GPUs and ports of the node: the runs that share it, and the servers of judges.

Pure. A *slot* is a share of the node in which runs are trained one after the other; slots work at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from calipers.study.export.settings import ClusterSettings, ServeSettings
from calipers.study.tables import Problem, problems_of_keys

SLOT_PORTS: Final = 1000
"""Ports of each slot: 20 for Ray's own services and the policy's server, the others for Ray's workers. As many before
the first slot are for judges.
"""
_SERVER_PORTS: Final = 50
_HIGHEST_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class Slot:
    """A share of the node: the GPUs of the runs that are trained in it, and its ports from ``first_port`` on."""

    number: int
    gpus: tuple[int, ...]
    first_port: int

    @property
    def policy_port(self) -> int:
        """The port where vLLM serves a trained policy while it is evaluated."""
        return self.first_port + 19


@dataclass(frozen=True, slots=True)
class Server:
    """vLLM as the server of a judge: ``copies`` of it, each on ``tensor_parallel`` of the GPUs and with a port."""

    judge: str
    model: str
    gpus: tuple[int, ...]
    tensor_parallel: int
    copies: int
    first_port: int
    arguments: tuple[str, ...] = ()

    @property
    def urls(self) -> list[str]:
        """The addresses of a served judge's copies, for ``base_url``."""
        return [f"http://127.0.0.1:{self.first_port + number}/v1" for number in range(self.copies)]


@dataclass(frozen=True, slots=True)
class Layout:
    """The shares of the node: slots for runs, and servers by their judges' names. ``problems`` say what cannot be."""

    slots: tuple[Slot, ...] = ()
    servers: Mapping[str, Server] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def lay_out(settings: ClusterSettings, models: Mapping[str, str], guessed: Collection[str] = ()) -> Layout:
    """Return the layout of a node for a study's runs.

    ``models`` are the judges that vLLM may serve, by name, without the provider. Settings in ``guessed`` are not the
    user's, whose own were wrong: nothing is said to be wrong that follows from them.
    """
    problems: list[Problem] = []
    servers = {
        name: server
        for number, (name, table) in enumerate((settings.serve or {}).items())
        if (server := _server(name, table, models, settings, number, problems)) is not None
    }
    served = {gpu for server in servers.values() for gpu in server.gpus}
    shares = settings.run_gpus if settings.run_gpus is not None else _even_shares(settings, served)
    slots = [
        Slot(number, tuple(gpus), settings.first_port + (number + 1) * SLOT_PORTS)
        for number, gpus in enumerate(shares)
        if _is_gpu_list(gpus)
    ]
    if len(slots) < len(shares):
        problem = f"[cluster] run_gpus={shares!r:.60}: it must be a list of lists of GPU numbers"
        problems.append(Problem(problem, ("cluster", "run_gpus")))
    sure = not any(problems) and not {"serve", "at_once", "gpus"} & set(guessed)
    if not slots and sure:
        problem = "[cluster]: no GPU is left for runs: serve fewer judges on the node, or share it less"
        problems.append(Problem(problem, ("cluster",)))
    if not {"serve", "at_once", "gpus", "run_gpus"} & set(guessed):
        problems += _problems_of_gpus(slots, servers, settings)
    if (last := settings.first_port + (len(slots) + 1) * SLOT_PORTS - 1) > _HIGHEST_PORT:
        problem = f"[cluster] first_port={settings.first_port}: the last port would be {last}: lower it"
        problems.append(Problem(problem, ("cluster", "first_port")))
    if len(servers) > SLOT_PORTS // _SERVER_PORTS:
        problem = f"[cluster.serve]: at most {SLOT_PORTS // _SERVER_PORTS} judges have ports"
        problems.append(Problem(problem, ("cluster", "serve")))
    return Layout(tuple(slots), servers, tuple(problems))


def _server(
    name: str,
    table: object,
    models: Mapping[str, str],
    settings: ClusterSettings,
    number: int,
    problems: list[Problem],
) -> Server | None:
    found = _serve_settings(name, table, models, problems)
    if found is None:
        return None
    wanted = found.tensor_parallel * found.copies
    gpus = tuple(range(settings.gpus - wanted, settings.gpus)) if found.gpus is None else tuple(found.gpus)
    if len(gpus) != wanted:
        problem = (
            f"[cluster.serve.{name}]: {found.copies} copies on {found.tensor_parallel} GPUs each need {wanted} GPUs, "
            f"and gpus has {len(gpus)}"
        )
        problems.append(Problem(problem, ("cluster", "serve", name, "gpus")))
    # Judges are served one at a time, but have ports of their own: settings of runs name them.
    port = settings.first_port + number * _SERVER_PORTS
    return Server(name, models[name], gpus, found.tensor_parallel, found.copies, port, tuple(found.arguments))


def _serve_settings(
    name: str, table: object, models: Mapping[str, str], problems: list[Problem]
) -> ServeSettings | None:
    """Return how a judge is served, or None with what is wrong with its table."""
    wrong: list[tuple[str, str]] = []
    if name not in models:
        wrong = [("", "no judge of that name under [judges] has a model for vLLM (vllm/...) and no address")]
    elif not isinstance(table, Mapping):
        wrong = [("", "it must be a table")]
    else:
        wrong = list(problems_of_keys(ServeSettings, table))
    found = ServeSettings(**table) if isinstance(table, Mapping) and not wrong else None
    if found is not None:
        if not isinstance(found.arguments, list | tuple) or not all(isinstance(one, str) for one in found.arguments):
            wrong.append(("arguments", f"arguments={found.arguments!r:.60}: it must be a list of texts"))
        if found.gpus is not None and not _is_gpu_list(found.gpus):
            wrong.append(("gpus", f"gpus={found.gpus!r:.60}: it must be a list of GPU numbers"))
    place = ("cluster", "serve", name)
    problems += (Problem(f"[{'.'.join(place)}]: {problem}", (*place, key)) for key, problem in wrong)
    return None if wrong else found


def _even_shares(settings: ClusterSettings, served: set[int]) -> list[list[int]]:
    """Return the GPUs of each run, as many as are left for it, but a power of two, which divides batches evenly."""
    free = [gpu for gpu in range(settings.gpus) if gpu not in served]
    each = len(free) // settings.at_once
    size = 1 << (each.bit_length() - 1) if each else 0
    return [free[start : start + size] for start in range(0, size * settings.at_once, size)] if size else []


def _problems_of_gpus(
    slots: Sequence[Slot], servers: Mapping[str, Server], settings: ClusterSettings
) -> Iterator[Problem]:
    users: dict[int, str] = {}
    for slot in slots:
        for gpu in slot.gpus:
            if gpu in users:
                problem = f"[cluster] run_gpus: GPU {gpu} is given to {users[gpu]} and to run {slot.number + 1}"
                yield Problem(problem, ("cluster", "run_gpus"))
            users[gpu] = f"run {slot.number + 1}"
    for server in servers.values():
        place = ("cluster", "serve", server.judge)
        for gpu in server.gpus:
            if gpu in users:
                problem = f"[{'.'.join(place)}]: GPU {gpu} is also that of {users[gpu]}: give it to one of them"
                yield Problem(problem, (*place, "gpus"))
    used = {gpu for slot in slots for gpu in slot.gpus} | {gpu for one in servers.values() for gpu in one.gpus}
    if beyond := sorted(gpu for gpu in used if not 0 <= gpu < settings.gpus):
        problem = f"[cluster]: the node has GPUs 0 to {settings.gpus - 1}, and not {', '.join(map(str, beyond))}"
        yield Problem(problem, ("cluster", "gpus"))


def _is_gpu_list(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(one, int) and not isinstance(one, bool) for one in value)
        and len(set(value)) == len(value)
    )
