"""Confine a process that is to run foreign code: on Linux with all mechanisms, on other Unix systems with limits.

Only the sandbox's own processes call this module, never the trainer's. ``child`` writes the code's answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pkgutil
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

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
    for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(kind, (0, 0))


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


_CALLS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    # name: number on x86_64, number on aarch64
    "brk": (12, 214),
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "close": (3, 57),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "futex": (202, 98),
    "getpid": (39, 172),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "gettid": (186, 178),
    "gettimeofday": (96, 169),
    "madvise": (28, 233),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    "nanosleep": (35, 101),
    "restart_syscall": (219, 128),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124),
    "time": (201, None),
    "times": (100, 153),
    "write": (1, 64),
}
"""System calls for memory, clocks, randomness, exit, and writing to open files. None of them opens or reads a file,
connects, forks, executes, signals or traces.
"""

_ARCHITECTURES: Final[Mapping[str, tuple[int, int]]] = {
    # machine: column in _CALLS, AUDIT_ARCH of linux/audit.h
    "x86_64": (0, 0xC000003E),
    "aarch64": (1, 0xC00000B7),
}
_X32: Final = 0x40000000
"""On x86_64 the same system calls have a second set of numbers from this number on, which the filter refuses."""

# constants of linux/bpf_common.h and linux/seccomp.h
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_KILL, _ALLOW = 0x80000000, 0x7FFF0000
_NUMBER, _ARCH = 0, 4
"""Offsets of the call's number and of the architecture in ``struct seccomp_data``."""


def seccomp_filter(machine: str) -> bytes | None:
    """Return the sandbox's system-call filter in the kernel's form, or None for an unknown ``machine``."""
    if machine not in _ARCHITECTURES:
        return None
    place, arch = _ARCHITECTURES[machine]
    numbers = [number for numbers in _CALLS.values() if (number := numbers[place]) is not None]
    code = [
        _instruction(_LOAD, _ARCH),
        _instruction(_EQUAL, arch, then=1),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
        _instruction(_AT_LEAST, _X32, otherwise=1),
        _instruction(_RETURN, _KILL),
    ]
    for number in numbers:
        code += [_instruction(_EQUAL, number, otherwise=1), _instruction(_RETURN, _ALLOW)]
    return b"".join([*code, _instruction(_RETURN, _KILL)])


def _instruction(operation: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    """Encode an instruction of the filter. ``then`` and ``otherwise`` are how many instructions to skip."""
    return struct.pack("=HBBI", operation, then, otherwise, value)


_NAMES = """
__future__ abc array base64 binascii bisect calendar cmath collections collections.abc copy csv dataclasses datetime
decimal difflib enum fractions functools graphlib hashlib heapq html html.entities html.parser io itertools json keyword
math numbers operator random re statistics string struct sys textwrap time types typing unicodedata urllib.parse zlib
"""
ALLOWED: Final = tuple(_NAMES.split())
"""Modules, with their submodules, that code in every sandbox may import."""

_CODECS = (
    "ascii latin_1 utf_8 utf_8_sig utf_16 utf_16_le utf_16_be utf_32 cp1252 idna punycode unicode_escape "
    "raw_unicode_escape"
)
_LATE = ("_strptime", "encodings.aliases", *(f"encodings.{name}" for name in _CODECS.split()))
"""Modules that functions of the standard library import only when they are called."""


def import_allowed(further: Iterable[str] = ()) -> frozenset[str]:
    """Import the modules that code in the sandbox may use, and the packages ``further``. Return their top-level names.

    Raises ImportError naming one of ``further`` that is not installed.
    """
    for name in (*ALLOWED, *_LATE):
        importlib.import_module(name)
    for name in further:
        package = importlib.import_module(name)
        for submodule in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}.", onerror=_skip):
            if not any(part in {"tests", "testing", "benchmarks", "__main__"} for part in submodule.name.split(".")):
                with contextlib.suppress(Exception):  # some modules are for other systems or need another package
                    importlib.import_module(submodule.name)
    return frozenset(name.partition(".")[0] for name in (*ALLOWED, *_LATE, *further))


def _skip(name: str) -> None:
    """Skip a part of a package that cannot be imported. Code that imports it later is refused."""
