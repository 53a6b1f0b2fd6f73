"""llama.cpp's own server, in this process, on a free loopback port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def llama_server(
    model: Path, *, slots: int = 4, context: int = 4096, chat_template: str | None = None
) -> Iterator[str]:
    """The base URL of a running server; ``context`` tokens per slot. Needs ``xllamacpp``."""
    import xllamacpp  # noqa: PLC0415 - heavy tests only

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_parallel = slots
    params.n_ctx = slots * context
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.fit_params = False
    params.verbosity = 0
    if chat_template is not None:
        params.chat_template = chat_template
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
