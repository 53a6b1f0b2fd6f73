"""The Tab key, in the real shells."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

BASH, ZSH = shutil.which("bash"), shutil.which("zsh")


def script(shell: str) -> str:
    command = [sys.executable, "-m", "calipers", "completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def path_with_calipers(folder: Path) -> dict[str, str]:
    program = folder / "calipers"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m calipers "$@"\n')
    program.chmod(0o755)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}


def in_bash(words: str, folder: Path) -> list[str]:
    """What bash offers at the end of these words."""
    given = words.split(" ")
    (folder / "complete.sh").write_text(
        f"{script('bash')}\nCOMP_WORDS=({' '.join(repr(word) for word in given)})\nCOMP_CWORD={len(given) - 1}\n"
        '_calipers_completion calipers\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [BASH or "bash", "--norc", str(folder / "complete.sh")],
        env=path_with_calipers(folder), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return done.stdout.split()


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("calipers sc", {"score", "scenarios"}),
        ("calipers score --budg", {"--budget"}),
        ("calipers score --on-attack fl", {"floor"}),
        ("calipers study comp", {"compare"}),
        ("calipers score --protocol p", {"pairwise", "pointwise"}),
        ("calipers calibrate --protocol li", {"listwise"}),
        ("calipers score --judge open", {"openai/", "openai_decisions/", "openrouter/"}),
        ("calipers calibrate --judge emb", {"embedded"}),
    ],
)
def test_bash_completes_commands_flags_and_values(words: str, offered: set[str], tmp_path: Path):
    assert set(in_bash(words, tmp_path)) == offered


@pytest.mark.skipif(ZSH is None, reason="zsh is not installed: apt-get install zsh")
def test_zsh_completes_at_the_tab_key(tmp_path: Path):
    (tmp_path / "_calipers").write_text(script("zsh"))
    begin = f"PS1='ready%% '; autoload -U compinit; compinit -u -D; source {tmp_path}/_calipers; clear"
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [ZSH or "zsh", "-f", "-i"],
        env=path_with_calipers(tmp_path) | {"TERM": "dumb"}, stdin=terminal, stdout=terminal, stderr=terminal,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(terminal)
        os.write(controller, f"{begin}\ncalipers sc\t\t".encode())
        said, until = b"", time.monotonic() + 60
        while b"scenarios" not in said and time.monotonic() < until:
            said += os.read(controller, 4096) if select.select([controller], [], [], 1)[0] else b""
        process.kill()
    os.close(controller)
    assert b"scenarios" in said, said.decode()
    assert b"score" in said


def test_fish_gets_a_script_of_its_own():
    assert "complete --no-files --command calipers" in script("fish")
