"""Confine a process that is to run foreign code: on Linux with all mechanisms, on other Unix systems with limits.

Only the sandbox's own processes call this module, never the trainer's. ``allowed_modules`` lists the modules
that the code may import, and ``child`` writes the code's answer.
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

from calipers.verifiers.sandbox.seccomp import seccomp_filter

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_MODE_FILTER = 2
_NAMESPACES = {
    # From linux/sched.h. The user namespace comes first because it allows the other namespaces without root.
    "user": 0x10000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
}
_NOBODY = 65534
_MOST_FILES = 1024
"""The fork server starts with three file descriptors and never opens one above this number."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


@dataclass(frozen=True, slots=True)
class Confinement:
    """How child processes of the sandbox's fork server are confined.

    ``child(write, cpu_seconds, memory)`` irrevocably gives up all rights that this system can take from a process. It
    raises OSError if a mechanism fails. ``layers`` names the mechanisms, and ``seccomp`` says whether system calls are
    filtered.
    """

    layers: tuple[str, ...]
    child: Callable[[int, int, int], None]
    seccomp: bool


def leave_namespaces() -> tuple[str, ...]:
    """Enter new namespaces without network or other users' processes, as far as allowed, and return their names.

    Only a process with a single thread can enter namespaces, so this comes before other modules are loaded. The safety
    of the sandbox does not depend on namespaces.
    """
    if sys.platform != "linux":
        return ()
    libc = ctypes.CDLL(None, use_errno=True)
    left = []
    for name, flag in _NAMESPACES.items():
        if libc.unshare(flag) == 0:
            left.append(f"{name} namespace")
        elif name == "user":
            break  # the system or the container allows this namespace for root only
    return tuple(left)


def prepare_confinement(empty: str, *, left: tuple[str, ...], seccomp: bool) -> Confinement:
    """Lock this process into the ``empty`` folder, and return the confinement for its children.

    ``left`` is the result of ``leave_namespaces``. Called once, before any foreign code runs.
    """
    base = _address_space()
    steps = seccomp_filter(os.uname().machine) if seccomp and sys.platform == "linux" else None
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    layers = ["limits", "closed files", *left, *_change_root(empty)]
    if libc is not None:
        layers.append("dies with its server")
    if steps is not None:
        layers.append("seccomp")
    held = ctypes.create_string_buffer(steps) if steps else None
    filtered = _Program(len(steps) // 8, ctypes.addressof(held)) if steps and held else None

    def child(write: int, cpu_seconds: int, memory: int) -> None:
        os.dup2(write, 0)
        os.closerange(1, _MOST_FILES)
        _set_limits(cpu_seconds, base + memory)
        if libc is not None:
            _prctl(libc, _PR_SET_PDEATHSIG, signal.SIGKILL)
            _prctl(libc, _PR_SET_NO_NEW_PRIVS, 1)
        if libc is not None and filtered is not None and held is not None:
            _prctl(libc, _PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(filtered))

    return Confinement(tuple(layers), child, seccomp=steps is not None)


def _set_limits(cpu_seconds: int, address_space: int) -> None:
    """Set hard limits, which an unprivileged process cannot raise again."""
    with contextlib.suppress(ValueError, OSError):  # macOS refuses a limit of memory, but not the others
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    # No file, socket or pipe can be opened, no process started, no file written and no core dumped.
    for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(what, (0, 0))


def _change_root(empty: str) -> list[str]:
    """Change the root to an empty folder if allowed, and give up root's rights. Return the names of the steps that
    succeeded.
    """
    locked = []
    with contextlib.suppress(OSError):
        os.chroot(empty)
        os.chdir("/")
        locked.append("empty root")
    if os.geteuid() == 0:  # the real root user, or the root of a user namespace that contains no other user
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            locked.append("not root")
    return locked


def _address_space() -> int:
    """Return this process's address space in bytes, or 0 if unknown. A limit of memory has to include it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - one read, before there is a pathlib
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _prctl(libc: ctypes.CDLL, option: int, value: int, more: int = 0) -> None:
    arguments = [ctypes.c_ulong(argument) for argument in (value, more, 0, 0)]
    if libc.prctl(ctypes.c_int(option), *arguments) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) was refused")
