"""The system call filter, interpreted here as the kernel would."""

import struct

import pytest

from calipers.verifiers.sandbox.confinement import seccomp_filter

KILL, ALLOW = 0x80000000, 0x7FFF0000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def run(code: bytes, number: int, arch: int) -> int:
    """What the filter returns for a call: the four instructions of classic BPF that it uses."""
    data = struct.pack("=II", number, arch) + bytes(56)
    steps = list(struct.iter_unpack("=HBBI", code))
    accumulator = at = 0
    while True:
        operation, then, otherwise, value = steps[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x15:
                at += then if accumulator == value else otherwise
            case 0x35:
                at += then if accumulator >= value else otherwise
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"an instruction that is not used: {operation:#x}")


ALLOWED = {
    "x86_64": {1, 3, 9, 10, 11, 12, 14, 15, 24, 25, 28, 35, 39, 60, 96, 98, 100, 186, 201, 202, 219, 228, 229, 230, 231,
               318},
    "aarch64": {57, 64, 93, 94, 98, 101, 113, 114, 115, 124, 128, 135, 139, 153, 165, 169, 172, 178, 214, 215, 216, 222,
                226, 233, 278},
}  # fmt: skip


@pytest.mark.parametrize("machine", ARCH)
def test_exactly_the_calls_meant_are_allowed_and_all_others_kill(machine: str) -> None:
    code = seccomp_filter(machine)
    assert code is not None
    allowed = {number for number in range(1000) if run(code, number, ARCH[machine]) == ALLOW}
    assert allowed == ALLOWED[machine]
    assert {run(code, number, ARCH[machine]) for number in set(range(1000)) - allowed} == {KILL}


def test_other_ways_to_the_same_calls_kill() -> None:
    """32-bit calls have other numbers, and x32 has them a second time."""
    code = seccomp_filter("x86_64")
    assert code is not None
    assert run(code, 1, 0x40000003) == KILL
    assert run(code, 0x40000001, ARCH["x86_64"]) == KILL
    assert run(code, 0xFFFFFFFF, ARCH["x86_64"]) == KILL


def test_a_processor_without_a_list_has_no_filter() -> None:
    assert seccomp_filter("riscv64") is None
