"""Stands for the programs of a GPU node: verl, Ray, vLLM, the hub's client, curl. Run as ``fake_node.py NAME ARGS...``.

Every call is a line of $FAKE_LOG. vLLM is a server that answers: as a judge, criteria "names WORD" are met where an
answer has the word; as a policy, it says Mars once it was trained, and nothing before.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def log(name: str, arguments: list[str]) -> None:
    noted = {key: os.environ.get(key) for key in ("CUDA_VISIBLE_DEVICES", "RAY_ADDRESS", "OPENAI_API_KEY")}
    with Path(os.environ["FAKE_LOG"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"name": name, "arguments": arguments, **noted}) + "\n")


def value_of(arguments: list[str], flag: str) -> str:
    return arguments[arguments.index(flag) + 1]


def python(arguments: list[str]) -> int:
    """verl's trainer and merger."""
    module = arguments[1]
    if module == "verl.trainer.main_ppo":
        settings = dict(one.partition("=")[::2] for one in arguments[2:])
        name = settings["trainer.experiment_name"]
        if name == os.environ.get("FAKE_FAILING"):
            return 1
        if name == os.environ.get("FAKE_ENDLESS"):
            time.sleep(600)
        folder = Path("checkpoints") / name
        (folder / "global_step_20" / "actor").mkdir(parents=True, exist_ok=True)
        (folder / "latest_checkpointed_iteration.txt").write_text("20", encoding="utf-8")
    else:
        assert module == "verl.model_merger", module
        assert Path(value_of(arguments, "--local_dir")).is_dir()
        target = Path(value_of(arguments, "--target_dir"))
        target.mkdir(parents=True)
        (target / "config.json").write_text("{}", encoding="utf-8")
        if "lora" in os.environ.get("FAKE_ADAPTERS", ""):
            (target / "lora_adapter").mkdir()
    return 0


def ray(arguments: list[str]) -> int:
    if arguments[0] == "start":
        signal.pause()
    port = os.environ["RAY_ADDRESS"].rpartition(":")[2]
    return 0 if any(value_of(started, "--port") == port for started in starts_of_ray()) else 1


def starts_of_ray() -> list[list[str]]:
    """The arguments of every ``ray start`` so far: as with Ray itself, there is no status before that."""
    path = Path(os.environ["FAKE_LOG"])
    calls = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    return [call["arguments"] for call in calls if call["name"] == "ray" and call["arguments"][0] == "start"]


class Answering(BaseHTTPRequestHandler):
    """vLLM's server, as a policy or a judge."""

    path_of_model: str

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": "any", "max_model_len": 32768}]}
        self._send(models if self.path == "/v1/models" else {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = self._reply(body)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        self._send({"id": "1", "object": "chat.completion", "model": "any", "choices": [choice], "usage": usage})

    def _reply(self, body: dict[str, Any]) -> str:
        from servers.checker import verdicts  # noqa: PLC0415 - tests/ is in the path of this program only

        if "Judge" in self.path_of_model:
            return verdicts(SimpleNamespace(body=body))  # type: ignore[arg-type]
        return "Mars" if self.path_of_model.startswith("models/") else "Nothing"

    def _send(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def vllm(arguments: list[str]) -> int:
    Answering.path_of_model = arguments[1]
    port = int(value_of(arguments, "--port"))
    ThreadingHTTPServer(("127.0.0.1", port), Answering).serve_forever()
    return 0


def hf(arguments: list[str]) -> int:
    shutil.copytree(Path(os.environ["FAKE_HUB"]) / arguments[1], value_of(arguments, "--local-dir"), dirs_exist_ok=True)
    return 0


def curl(arguments: list[str]) -> int:
    url = arguments[-1]
    if "--output-dir" in arguments:
        shutil.copy(Path(os.environ["FAKE_HUB"]) / Path(url).name, value_of(arguments, "--output-dir"))
        return 0
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - loopback
            return 0
    except OSError:
        return 7


def main() -> int:
    name, arguments = sys.argv[1], sys.argv[2:]
    if not (name == "curl" and "--output-dir" not in arguments) and arguments[:1] != ["status"]:
        log(name, arguments)
    match name:
        case "python":
            return python(arguments)
        case "ray":
            return ray(arguments)
        case "vllm":
            return vllm(arguments)
        case "hf":
            return hf(arguments)
        case "curl":
            return curl(arguments)
        case "nvidia-smi":
            sys.stdout.write("GPU\n" * int(os.environ["FAKE_GPUS"]))
        case "df":
            sys.stdout.write("Avail\n9999\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
