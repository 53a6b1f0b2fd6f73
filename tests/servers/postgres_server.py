"""A Postgres server of a test's own: a new cluster in a scratch folder, on a free port of this machine."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

USER = "calipers"
PASSWORD = "its/secret@word"  # noqa: S105 - of a server that lives as long as a test
_QUOTED = "its%2Fsecret%40word"


def programs() -> Path | None:
    """The folder of ``initdb`` and ``postgres``, which Debian keeps off the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "")]
    return found[-1].parent if found[-1].is_file() else None


class PostgresServer:
    """A server that can be killed and started again. Postgres does not run as root, so root lends it another user."""

    def __init__(self) -> None:
        folder = programs()
        assert folder is not None
        self._programs = folder
        self._folder = Path(tempfile.mkdtemp(prefix="calipers-postgres-"))
        self._as: dict[str, Any] = {"cwd": self._folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}}
        if getpass.getuser() == "root" or os.geteuid() == 0:
            other = next(name for name in ("postgres", "nobody") if name in {one.pw_name for one in pwd.getpwall()})
            shutil.chown(self._folder, other)
            self._as["user"] = other
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run_initdb()
        self.start()

    def _run_initdb(self) -> None:
        secret = self._folder / "secret"
        secret.write_text(PASSWORD)
        command = ["initdb", "-D", "data", "-U", USER, "--pwfile", str(secret), "--auth-host=scram-sha-256", "-N"]
        command += ["--auth-local=trust", "-E", "UTF8", "--locale=C"]
        subprocess.run([self._programs / command[0], *command[1:]], check=True, stdout=subprocess.DEVNULL, **self._as)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off", "port": self.port}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            before = log.tell()
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", "data", *options], stdout=log, stderr=log, **self._as
            )
        ends = time.monotonic() + 30
        while b"ready to accept connections" not in (self._folder / "log").read_bytes()[before:]:
            if self._process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(f"Postgres does not start: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.02)

    @property
    def process(self) -> int:
        """The id of the server's first process."""
        return self._process.pid

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT as an administrator would, SIGQUIT as a crash, without a last write."""
        self._process.send_signal(how)
        self._process.wait(30)

    def url(self, schema: str = "", *, user: str = USER, secret: str = _QUOTED, database: str = "postgres") -> str:
        """The address of the ledger in ``schema``."""
        options = f"?schema={schema}" if schema else ""
        return f"postgresql://{user}:{secret}@127.0.0.1:{self.port}/{database}{options}"

    def run(self, program: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run one of Postgres' own programs against the server, such as ``pg_dump``."""
        where = {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": USER, "PGPASSWORD": PASSWORD}
        where |= {"PGDATABASE": "postgres", "PATH": os.environ["PATH"]}
        return subprocess.run(
            [self._programs / program, *arguments], check=True, env=where, capture_output=True, **options
        )

    def close(self) -> None:
        """End the server and remove its folder."""
        if self._process.poll() is None:
            self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
