"""The system calls a confined process may still make, as a seccomp filter.

Pure: numbers and bytes. Installing the filter is ``confinement``'s business. What is not listed kills the process, which
no ``try`` of its own can hide: the fork server sees the signal.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

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
"""Memory, clocks, randomness, ending, and writing to what is open. Nothing that opens, connects, forks, executes, signals,
traces, or reads a file."""

_ARCHITECTURES: Final[Mapping[str, tuple[int, int]]] = {
    # machine: place in _CALLS, AUDIT_ARCH of linux/audit.h
    "x86_64": (0, 0xC000003E),
    "aarch64": (1, 0xC00000B7),
}
_X32: Final = 0x40000000
"""On x86_64 the same calls can be made under these numbers; none of ours is."""

# linux/bpf_common.h and linux/seccomp.h
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_KILL, _ALLOW = 0x80000000, 0x7FFF0000
_NUMBER, _ARCH = 0, 4
"""Where ``struct seccomp_data`` holds the call's number and the architecture."""


def program(machine: str) -> bytes | None:
    """The filter for ``machine`` (as ``os.uname`` names it) in the kernel's form, or None where none is written."""
    if machine not in _ARCHITECTURES:
        return None
    place, arch = _ARCHITECTURES[machine]
    numbers = [number for numbers in _CALLS.values() if (number := numbers[place]) is not None]
    code = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, arch, then=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, otherwise=1),
        _step(_RETURN, _KILL),
    ]
    for number in numbers:
        code += [_step(_EQUAL, number, otherwise=1), _step(_RETURN, _ALLOW)]
    return b"".join([*code, _step(_RETURN, _KILL)])


def _step(operation: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    """One instruction; ``then`` and ``otherwise`` are how many to leap over."""
    return struct.pack("=HBBI", operation, then, otherwise, value)
