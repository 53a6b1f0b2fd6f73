"""What stands for names of models in the loops of this folder, so that they run on a CPU in seconds, without a key.

A task; a writer of scenarios that answers from a script; a judge of a few lines that knows which words belong to a
topic; and a policy: a one-layer model with random weights that knows some 90 words, samples answers, learns from
advantages, and answers like a server of chat completions. In earnest these are names of models.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from calipers import Judge
from calipers.backends.providers.scripted import Scripted
from calipers.scenarios import Scenario, Split, split, write_scenarios
from calipers.types import Completion, JudgeRequest

torch.set_num_threads(1)  # for a model of this size, more only wait for one another

TASK = "names things that belong to a topic"
TOPICS = {
    "sea": ["gull", "tide", "wave", "reef", "kelp", "crab", "sail", "salt", "foam", "cove"],
    "forest": ["moss", "fern", "oak", "pine", "elk", "fox", "bark", "leaf", "root", "owl"],
}
ASKED = {
    "sea": ("name some things of the sea", "what would a diver meet down there in the sea",
            "single words please : sea", "my child draws ships and asks what is missing : sea",
            "a shanty needs words , about the sea", "pack my vocabulary : sea"),
    "forest": ("list what grows or lives in a forest", "we walk tomorrow , look out for what in the forest",
               "whatever comes to mind : forest", "write labels for our map of the forest",
               "how do hunters talk of the forest", "fill this tale with nouns of the forest"),
}  # fmt: skip
LENGTH = 6
"""Words of an answer."""


def scenarios(held_out: float = 0.3) -> Split:
    """Return the scenarios that the writer writes, some of them held out."""
    levels = ("easy", "medium", "hard")
    asked = ([{"difficulty": levels[n % 3], "text": text} for n, text in enumerate(ASKED[topic])] for topic in TOPICS)
    replies: list[Any] = [{"topics": list(TOPICS)}, *({"inputs": inputs} for inputs in asked)]
    writer = Judge(Scripted([{"text": json.dumps(reply)} for reply in replies]))
    return split(asyncio.run(write_scenarios(TASK, 12, writer)).scenarios, held_out)


def fitting(prompt: str, answer: str) -> float:
    """Return the truth: the share of an answer's places filled with different words of the prompt's topic."""
    topic = next(name for name in TOPICS if name in prompt.split())
    return len(set(answer.split()) & set(TOPICS[topic])) / LENGTH


def opinion(question: str) -> str:
    """Return what stands for a judge's reply to calipers' question: scores by the truth, up to 10 points off."""
    asked, scores = re.findall(r" user\n(.*)\n", question)[0], {}
    for key, answer in re.findall(r"candidate ([A-Z]+)\n(.*?)\n(?=@\w+ (?:candidate|end\n))", question, re.DOTALL):
        off = hashlib.sha256(answer.encode()).digest()[-1] % 21 - 10
        scores[key] = min(max(round(100 * fitting(asked, answer)) + off, 0), 100)
    return json.dumps({"explanations": {}, "scores": scores})


class WordJudge:
    """Stands for a judge within this process."""

    endpoint = "example"
    model = "words"

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return scores from 0 to 100 for the answers that the question shows."""
        return Completion(opinion(str(request.messages[-1]["content"])), finish_reason="stop", model=self.model)


class Policy:
    """A one-layer model with random weights, with a token for each of ``words``."""

    def __init__(self, words: Sequence[str] | None = None) -> None:
        if words is None:
            words = " ".join(text for part in (*TOPICS.values(), *ASKED.values()) for text in part).split()
        self.tokens = tokenizer(words)
        torch.manual_seed(0)
        config = Qwen2Config(
            vocab_size=len(self.tokens), hidden_size=32, intermediate_size=32, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=2, eos_token_id=0, pad_token_id=1,
        )  # fmt: skip
        self.model: Any = Qwen2ForCausalLM(config)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    def answers(self, prompt: str, count: int, length: int = LENGTH) -> list[str]:
        """Return answers of ``length`` words that the policy samples."""
        written = self.tokens([prompt] * count, return_tensors="pt")["input_ids"]
        start = written.shape[1]
        with torch.no_grad():
            for _ in range(length):
                chances = torch.softmax(self.model(written).logits[:, -1], dim=-1)
                written = torch.cat([written, torch.multinomial(chances, 1)], dim=1)
        return list(self.tokens.batch_decode(written[:, start:]))

    def answer(self, prompt: str) -> str:
        """Return one answer."""
        return self.answers(prompt, 1)[0]

    def logprobs(self, prompt: str, answer: str) -> torch.Tensor:
        """Return the log-probability of each word of an answer, with their gradient."""
        before, after = (self.tokens(text, return_tensors="pt")["input_ids"] for text in (prompt, answer))
        logits = self.model(torch.cat([before, after], dim=1)).logits[0, before.shape[1] - 1 : -1]
        return torch.log_softmax(logits, dim=-1).gather(1, after[0].unsqueeze(1)).squeeze(1)

    def learn(self, rollouts: Sequence[tuple[str, str, float]]) -> None:
        """Take one step of GRPO on rollouts of this very policy: prompt, answer, advantage."""
        losses = [-advantage * self.logprobs(prompt, answer).mean() for prompt, answer, advantage in rollouts]
        self.optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        self.optimizer.step()

    def truth(self, held_out: Sequence[Scenario], count: int = 16) -> float:
        """Return the mean truth of the policy's answers to scenarios."""
        values = [fitting(one.text, answer) for one in held_out for answer in self.answers(one.text, count)]
        return sum(values) / len(values)


def tokenizer(words: Sequence[str]) -> Any:
    """Return a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415 - comes with transformers

    known = dict.fromkeys(["<eos>", "<pad>", "<unk>", *words])
    made = Tokenizer(models.WordLevel({word: place for place, word in enumerate(known)}, "<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_input_names=["input_ids", "attention_mask"], **special)


@contextmanager
def served(answer: Callable[[str], str], model: str = "tiny") -> Iterator[str]:
    """Serve ``answer`` to the last message as chat completions on this machine, as vLLM would; yields the base URL."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """List the model."""
            self.reply({"object": "list", "data": [{"id": model, "object": "model"}]})

        def do_POST(self) -> None:
            """Answer."""
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                text = answer(str(asked["messages"][-1]["content"]))
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            envelope = {"id": "x", "object": "chat.completion", "created": 0, "model": model}
            self.reply({**envelope, "choices": [choice], "usage": usage})

        def reply(self, body: Any) -> None:
            """Send JSON."""
            sent = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            """Keep requests off the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def draw(rewards: Sequence[float], before: float, after: float, path: Path) -> None:
    """Draw the reward of each step, and the truth on held-out scenarios before and after; print where the figure is."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra

        mpl.use("Agg")
        from matplotlib import pyplot as plt  # noqa: PLC0415 - likewise
    except ImportError:
        print("no figure: pip install matplotlib")
        return
    figure, axes = plt.subplots(figsize=(6, 3.5))
    axes.plot(range(1, len(rewards) + 1), rewards, label="judge's reward, training")
    axes.plot([0, len(rewards)], [before, after], "o", label="truth, held out, before and after")
    axes.set(xlabel="step", ylim=(0, 1))
    axes.legend(loc="lower right")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
    print(f"figure: {path}")
