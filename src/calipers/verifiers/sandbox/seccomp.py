"""The seccomp filter: the system calls that a confined process may still make.

Pure: only numbers and bytes. ``confinement`` installs the filter. Any other system call kills the process. The code in
the process cannot catch that, and the fork server sees the signal.
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
