"""What the system takes away from a process that is to run foreign code. Linux with all layers, other Unix with limits.

Called in the sandbox's own processes only, never in the trainer's. Not responsible for what Python code may import or
for reading its answer (``child``).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

from calipers.verifiers.sandbox.seccomp import program

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_MODE_FILTER = 2
_NAMESPACES = {
    # linux/sched.h; a user namespace first, which makes the others possible without root
    "user": 0x10000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
}
_NOBODY = 65534
_MOST_FILES = 1024
"""File descriptors above this are none of the fork server's, which was started with three."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


@dataclass(frozen=True, slots=True)
class Confinement:
    """``child(write, cpu_seconds, memory)`` gives up, for good, what this system can take away; ``seccomp`` tells whether
    system calls are among it, ``layers`` names everything. Raises OSError where a layer that is named cannot be had.
    """

    layers: tuple[str, ...]
    child: Callable[[int, int, int], None]
    seccomp: bool


def leave_namespaces() -> tuple[str, ...]:
    """Leave the network and other processes' view behind, as far as an ordinary user can; what could be left.

    Only a process with one thread can, so it comes before further modules are loaded. None of it is relied on.
    """
    if sys.platform != "linux":
        return ()
    libc = ctypes.CDLL(None, use_errno=True)
    left = []
    for name, flag in _NAMESPACES.items():
        if libc.unshare(flag) == 0:
            left.append(f"{name} namespace")
        elif name == "user":
            break  # the system, or the container, keeps them for root
    return tuple(left)


def prepare(empty: str, *, left: tuple[str, ...], seccomp: bool) -> Confinement:
    """Lock this process into the ``empty`` folder, and get ready to confine its children.

    ``left`` is what ``leave_namespaces`` said. Called once, before anything foreign runs.
    """
    base = _address_space()
    steps = program(os.uname().machine) if seccomp and sys.platform == "linux" else None
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    layers = ["limits", "closed files", *left, *_lock_in(empty)]
    if libc is not None:
        layers.append("dies with its server")
    if steps is not None:
        layers.append("seccomp")
    held = ctypes.create_string_buffer(steps) if steps else None
    filtered = _Program(len(steps) // 8, ctypes.addressof(held)) if steps and held else None

    def child(write: int, cpu_seconds: int, memory: int) -> None:
        os.dup2(write, 0)
        os.closerange(1, _MOST_FILES)
        _limit(cpu_seconds, base + memory)
        if libc is not None:
            _prctl(libc, _PR_SET_PDEATHSIG, signal.SIGKILL)
            _prctl(libc, _PR_SET_NO_NEW_PRIVS, 1)
        if libc is not None and filtered is not None and held is not None:
            _prctl(libc, _PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(filtered))

    return Confinement(tuple(layers), child, seccomp=steps is not None)


def _limit(cpu_seconds: int, address_space: int) -> None:
    """Hard limits: an ordinary process cannot lift them again."""
    with contextlib.suppress(ValueError, OSError):  # macOS refuses this one; the rest hold there, too
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    # No file, socket or pipe can be opened, no process started, nothing written to a file, no core left behind.
    for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(what, (0, 0))


def _lock_in(empty: str) -> list[str]:
    """An empty root, where this process may change it, and no more power than anybody."""
    locked = []
    with contextlib.suppress(OSError):
        os.chroot(empty)
        os.chdir("/")
        locked.append("empty root")
    if os.geteuid() == 0:  # root indeed, or root of its own namespace with nobody else in it
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            locked.append("not root")
    return locked


def _address_space() -> int:
    """Bytes of address space this process has now: what a limit has to come on top of. 0 where it is not told."""
    try:
        with open("/proc/self/statm", encoding="ascii") as told:  # noqa: PTH123 - one read, before there is a pathlib
            return int(told.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _prctl(libc: ctypes.CDLL, option: int, value: int, more: int = 0) -> None:
    arguments = [ctypes.c_ulong(argument) for argument in (value, more, 0, 0)]
    if libc.prctl(ctypes.c_int(option), *arguments) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) was refused")
