"""What is taken away before foreign code comes: looked at from inside a process of the test's own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines code on Linux only")


CONFINED = """
import os, sys, time
from calipers.verifiers.sandbox.confinement import prepare_confinement
opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(20)]
read, write = os.pipe()
made = prepare_confinement(sys.argv[1], left=(), seccomp=False)
"""


def inside(code: str, folder: Path) -> str:
    """What the code prints in a confined process of its own."""
    command = [sys.executable, "-c", CONFINED + code, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_root_is_given_up_and_the_file_system_is_empty(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root has root to give up")
    code = """
assert os.listdir("/") == []
try:
    os.setuid(0)
except PermissionError:
    print(os.geteuid(), *made.layers)
"""
    tmp_path.chmod(0o755)
    found = inside(code, tmp_path)
    if found.startswith("65534"):
        assert "not root" in found
    else:
        pytest.skip("this container has no other user to become")


def test_no_descriptor_is_left_but_the_way_out(tmp_path: Path) -> None:
    code = """
if os.fork() == 0:
    made.child(write, 1, 2**28)
    left = []
    for number in range(64):
        try:
            os.fstat(number)
            left.append(number)
        except OSError:
            pass
    try:
        os.dup(0)
        left.append("dup")
    except OSError:
        pass
    os.write(0, repr(left).encode())
    os._exit(0)
os.wait()
print(os.read(read, 100).decode())
"""
    assert inside(code, tmp_path) == "[0]"


def test_a_child_does_not_outlive_its_server(tmp_path: Path) -> None:
    code = """
server = os.fork()
if server == 0:
    child = os.fork()
    if child == 0:
        made.child(write, 60, 2**28)
        os.write(0, b"ready")
        time.sleep(60)
    time.sleep(60)
os.close(write)
assert os.read(read, 5) == b"ready"
os.kill(server, 9)
print(repr(os.read(read, 1)))  # the child's end closes only with the child
"""
    assert inside(code, tmp_path) == "b''"
