"""Whether weights by reliability teach a policy more from as many judged groups: GRPO on a softmax policy, exactly.

    python -m benchmarks.fidelity.weighted_training [--steps 120] [--seeds 24]

A prompt is a vector of 24 normal numbers. A response is one of 8 actions, chosen by a softmax whose logits are linear
in the prompt. One action is right, the largest of 8 hidden linear functions; in *null* prompts all are wrong alike. All
prompts move the same 192 parameters, so that noise in null groups can spoil what others teach. The judge's score is 1
or 0 plus normal noise; the noise is known as well as 64 groups in 4 orders show it. *Truth* is the chance of the right
action on held-out prompts, without sampling. A step has 128 responses, advantages as in TRL's default, and the gradient
of the clipped objective, 1 or 4 times.

Every method has the learning rate at which it does best on 8 other seeds, in the mean area under its curve of truth, so
that a smaller step is no handicap and no help. *Weighted* is √R; *oracle* the root of the true reliability, 0 for null
groups, which nobody knows. Runs are paired by seed. *Groups* is how many judged groups a method needs to reach the
truth that plain advantages end with, as a share of plain's. Takes ten minutes of one core. Not responsible for real
policies: ``calipers study train weights`` and ``undecided`` train one. There, too, weights gain truth where three in
four groups are null, and nothing where a third to a half are (docs/rewards.md).
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from benchmarks.fidelity.gradient import reliability
from calipers.calibration.arrays import Array
from calipers.study.intervals import t_quantile

Optimizer: TypeAlias = Literal["adam", "sgd"]
Method: TypeAlias = Literal["plain", "weighted", "oracle"]

INPUTS, ACTIONS, RESPONSES, HELD_OUT = 24, 8, 128, 192
TUNING: Final = 8
"""Seeds on which rates are chosen; runs that are reported have others."""
RATES: Final = {"adam": tuple(0.01 * 2**step for step in range(7)), "sgd": tuple(0.5 * 2**step for step in range(8))}
CLIP, EPSILON = 0.2, 1e-4
_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.95, 1e-8
_NOISE_FREEDOM = 64 * 3
"""Of the learned noise, for each member of a group beyond the first."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One case. ``null`` is the share of groups without true spread; ``noise`` the standard deviation of a score."""

    optimizer: Optimizer = "adam"
    null: float = 0.4
    size: int = 8
    updates: int = 1
    noise: float = 0.5


class Runs:
    """Runs of one setting and method, a row for each seed, trained together."""

    def __init__(self, setting: Setting, method: Method, rate: float, seeds: range) -> None:
        self.setting, self.method, self.rate = setting, method, rate
        self.dice = [np.random.default_rng([7, seed]) for seed in seeds]
        self.hidden = self._normal(ACTIONS, INPUTS)
        self.held_out = self._normal(HELD_OUT, INPUTS)
        self.right = np.argmax(self.held_out @ self.hidden.transpose(0, 2, 1), axis=-1)
        freedom = _NOISE_FREEDOM * (setting.size - 1)
        chances = np.array([one.chisquare(freedom) / freedom for one in self.dice])
        self.known_noise = setting.noise**2 * chances[:, None, None]
        self.theta = np.zeros((len(self.dice), ACTIONS, INPUTS))
        self.mean, self.square, self.updates = np.zeros_like(self.theta), np.zeros_like(self.theta), 0

    def curve(self, steps: int) -> Array:
        """Train, and return truth before each step and at the end, (seeds, steps + 1)."""
        found = [self.truth()]
        for _ in range(steps):
            self.step()
            found.append(self.truth())
        return np.stack(found, axis=1)

    def truth(self) -> Array:
        """The mean chance of the right action on held-out prompts, (seeds,)."""
        chances = _softmax(self.held_out @ self.theta.transpose(0, 2, 1))
        return np.asarray(np.take_along_axis(chances, self.right[..., None], axis=-1)[..., 0].mean(axis=1))

    def step(self) -> None:
        """Sample, judge and update. All methods of a seed draw the same random numbers."""
        size = self.setting.size
        prompts = self._normal(RESPONSES // size, INPUTS)
        uniform = np.stack([one.random((RESPONSES // size, size)) for one in self.dice])
        errors = self.setting.noise * self._normal(RESPONSES // size, size)
        real = np.arange(RESPONSES // size) >= round(self.setting.null * (RESPONSES // size))
        old = _softmax(prompts @ self.theta.transpose(0, 2, 1))
        chosen = (uniform[..., None] > np.cumsum(old, axis=-1)[:, :, None, :-1]).sum(axis=-1)
        right = np.argmax(prompts @ self.hidden.transpose(0, 2, 1), axis=-1)[..., None]
        true = ((chosen == right) & real[None, :, None]).astype(float)
        given = self._advantages(true, true + errors)
        was = np.take_along_axis(old, chosen, axis=-1)
        for _ in range(self.setting.updates):
            now = _softmax(prompts @ self.theta.transpose(0, 2, 1))
            ratio = np.take_along_axis(now, chosen, axis=-1) / was
            clipped = np.where(given > 0, ratio > 1 + CLIP, ratio < 1 - CLIP)
            weight = np.where(clipped, 0.0, ratio * given) / RESPONSES
            # The gradient of log π(a) in the logits is onehot(a) - π.
            pull = np.stack([(weight * (chosen == action)).sum(axis=-1) for action in range(ACTIONS)], axis=-1)
            pull -= weight.sum(axis=-1, keepdims=True) * now
            self._ascend(pull.transpose(0, 2, 1) @ prompts)

    def _advantages(self, true: Array, scores: Array) -> Array:
        deviation = scores.std(axis=-1, ddof=1, keepdims=True)
        plain = (scores - scores.mean(axis=-1, keepdims=True)) / (deviation + EPSILON)
        match self.method:
            case "weighted":
                return np.asarray(np.sqrt(reliability(scores, self.known_noise)) * plain)
            case "oracle":
                spread = true.var(axis=-1, ddof=1, keepdims=True)
                return np.asarray(np.sqrt(spread / (spread + self.setting.noise**2)) * plain)
        return plain

    def _ascend(self, gradient: Array) -> None:
        if self.setting.optimizer == "sgd":
            self.theta = self.theta + self.rate * gradient
            return
        self.updates += 1
        self.mean = _DECAY * self.mean + (1 - _DECAY) * gradient
        self.square = _SQUARE_DECAY * self.square + (1 - _SQUARE_DECAY) * gradient**2
        mean, square = self.mean / (1 - _DECAY**self.updates), self.square / (1 - _SQUARE_DECAY**self.updates)
        self.theta = self.theta + self.rate * mean / (np.sqrt(square) + _TINY)

    def _normal(self, *shape: int) -> Array:
        return np.stack([one.standard_normal(shape) for one in self.dice])


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def best_rate(setting: Setting, method: Method, steps: int) -> float:
    """The learning rate with the largest mean area under truth on the tuning seeds."""
    seeds = range(1000, 1000 + TUNING)
    areas = {rate: Runs(setting, method, rate, seeds).curve(steps).mean() for rate in RATES[setting.optimizer]}
    return max(areas, key=lambda rate: areas[rate])


def groups_needed(curves: Array, aim: float) -> float:
    """After which share of the steps the mean curve first has the truth ``aim``; NaN if it never has."""
    mean = curves.mean(axis=0)
    above = np.flatnonzero(mean >= aim)
    return float(above[0]) / (len(mean) - 1) if len(above) else float("nan")


def interval(values: Array) -> str:
    """A mean and its 95 % t-interval over paired runs."""
    width = t_quantile(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    found = f"{values.mean():+.4f} ± {width:.4f}"
    return f"**{found}**" if abs(values.mean()) > width else found


def row(setting: Setting, *, steps: int, seeds: int) -> str:
    """A row of the table: truth of plain, and what the other methods add to it."""
    rates = {method: best_rate(setting, method, steps) for method in ("plain", "weighted", "oracle")}
    curves = {
        method: Runs(setting, method, rate, range(seeds)).curve(steps)  # type: ignore[arg-type]  # its own keys
        for method, rate in rates.items()
    }
    plain = curves["plain"]
    ends = {name: one[:, -1] for name, one in curves.items()}
    cells = [
        f"{setting.optimizer}, {setting.updates}, {setting.size}, {setting.null:.0%}, {setting.noise:g}",
        f"{plain[:, 0].mean():.3f} → {ends['plain'].mean():.3f}",
        *(interval(ends[name] - ends["plain"]) for name in ("weighted", "oracle")),
        *(interval(curves[name].mean(axis=1) - plain.mean(axis=1)) for name in ("weighted", "oracle")),
        *(f"{groups_needed(curves[name], plain.mean(axis=0)[-1]):.2f}" for name in ("weighted", "oracle")),
        " / ".join(f"{rate:g}" for rate in rates.values()),
    ]
    return f"| {' | '.join(cells)} |"


def settings() -> list[Setting]:
    """The grid: optimiser, share of null groups and updates; and beside its middle, group size and noise."""
    usual = Setting()
    found = [
        replace(usual, optimizer=optimizer, updates=updates, null=null)  # type: ignore[arg-type]  # of the right names
        for optimizer, updates, null in itertools.product(("adam", "sgd"), (1, 4), (0.0, 0.25, 0.5, 0.75, 0.875))
    ]
    for optimizer, null in itertools.product(("adam", "sgd"), (0.25, 0.75)):
        here = replace(usual, optimizer=optimizer, null=null)  # type: ignore[arg-type]  # likewise
        found += [replace(here, size=size) for size in (4, 16)]
        found += [replace(here, noise=noise) for noise in (0.25, 1.0)]
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=24)
    given = parser.parse_args(arguments)
    heads = ("optimiser, updates, group of, null, noise", "truth, plain", "end: weighted", "oracle")
    print(f"| {' | '.join((*heads, 'area: weighted', 'oracle', 'groups: weighted', 'oracle', 'rates'))} |")
    print("|---" * 9 + "|")
    for one in settings():
        print(row(one, steps=given.steps, seeds=given.seeds), flush=True)


if __name__ == "__main__":
    main()
