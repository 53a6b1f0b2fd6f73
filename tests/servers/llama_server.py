"""llama.cpp's own server on a loopback port: in this process, or in one of its own that can be killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self


@contextmanager
def llama_server(
    model: Path,
    *,
    slots: int = 4,
    context: int = 4096,
    chat_template: str | None = None,
    port: int = 0,
    api_key: str | None = None,
    applies_schemas: bool = True,
) -> Iterator[str]:
    """The base URL of a running server; ``context`` tokens per slot, ``port`` 0 takes a free one. Without
    ``applies_schemas`` it takes a schema without a word and applies none. Needs ``xllamacpp``.
    """
    import xllamacpp  # noqa: PLC0415 - heavy tests only

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_parallel = slots
    params.n_ctx = slots * context
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.fit_params = False
    params.verbosity = 0
    params.force_pure_content_parser = not applies_schemas
    if chat_template is not None:
        params.chat_template = chat_template
    if port:
        params.port = port
    if api_key is not None:
        params.api_keys = [api_key]
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


class LlamaProcess:
    """A server in a process of its own, that can be killed and begun again at the same address. Use with ``with``."""

    def __init__(self, model: Path, *, slots: int = 1) -> None:
        self._model = model
        self._slots = slots
        self._port = 0
        self.url = self.start()

    def start(self) -> str:
        """Begin, at the address it had before if it had one; returns once it answers."""
        command = [sys.executable, __file__, str(self._model), str(self._slots), str(self._port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, text=True)  # fmt: skip
        assert self._process.stdout is not None
        url = next((line.split()[1] for line in self._process.stdout if line.startswith("listening ")), "")
        assert url, "the server did not begin"
        self._port = int(url.rsplit(":", 1)[1].split("/")[0])
        return url

    def kill(self) -> None:
        """SIGKILL: connections break where they are."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


if __name__ == "__main__":
    with llama_server(Path(sys.argv[1]), slots=int(sys.argv[2]), port=int(sys.argv[3])) as address:
        sys.stdout.write(f"listening {address}\n")
        sys.stdout.flush()
        sys.stdin.read()
