"""What the server counts, and its page for Prometheus."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from calipers.monitoring.prometheus import exposition
from calipers.server.room import Room
from calipers.server.tenant import Tenant


@dataclass(slots=True)
class Counts:
    """Requests to the server by path and status, since it started. ``in_flight`` are those without an answer yet."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    in_flight: int = 0


async def metrics_page(counts: Counts, room: Room, tenant: Tenant, *, draining: bool) -> str:
    """Return the server's page for Prometheus, as one tenant may see it: its own groups and its judge's health."""
    health = await tenant.monitor.metrics_in_pieces()
    gauges = {
        "server_rollouts_waiting": float(room.taken),
        "server_rollouts_waiting_limit": float(room.most),
        "server_bytes_waiting": float(room.taken_bytes),
        "server_bytes_waiting_limit": float(room.most_bytes),
        "server_requests_in_flight": float(counts.in_flight),
        "server_groups_open": float(tenant.gathering),
        "server_draining": float(draining),
    }
    lines = ["# TYPE calipers_server_requests_total counter"]
    for (path, status), number in sorted(counts.requests.items()):
        lines.append(f'calipers_server_requests_total{{path="{path}",status="{status}"}} {number}')
    lines.append("# TYPE calipers_server_request_seconds_total counter")
    lines += [
        f'calipers_server_request_seconds_total{{path="{path}"}} {seconds:.6f}'
        for path, seconds in sorted(counts.seconds.items())
    ]
    lines += [
        "# TYPE calipers_server_repeated_total counter",
        f"calipers_server_repeated_total {tenant.repeated}",
        "# TYPE calipers_server_late_total counter",
        f"calipers_server_late_total {tenant.rollouts.late}",
    ]
    return "".join(f"{line}\n" for line in lines) + exposition(gauges) + exposition(health)
