"""Which series of a run are drawn together, and under which names.

The series are those of ``ledgers`` (health metrics, docs/health.md) and of ``watched`` (docs/watching-training.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from calipers.report.runs.shapes import Panel

_CORRELATION: Final = (-1.0, 1.0)
_SHARE: Final = (0.0, 1.0)
_SIZE: Final = (0.0, None)
_WITHIN: Final = "Within groups, by Somers' D: 1 is the same order, 0 chance, below 0 the reverse."

PANELS: Final = (
    Panel(
        "reward",
        "Rewards",
        {"reward": "judge's reward", "audit": "audit judge's score", "truth": "truth"},
        "A judge that compares the responses of a group gives nearly the same mean whatever the policy does.",
        always=True,
    ),
    Panel(
        "fidelity",
        "Agreement of rewards with truth and audit",
        {"truth_fidelity": "with truth", "audit_fidelity": "with the audit"},
        _WITHIN,
        always=True,
        within=_CORRELATION,
    ),
    Panel("gap", "Reward less truth and audit", {"truth_gap": "less truth", "audit_gap": "less the audit's score"}),
    Panel("length", "Length of responses in characters", {"characters": "characters"}, within=_SIZE),
    Panel("tokens", "Length of responses in tokens", {"length": "tokens"}, within=_SIZE),
    Panel("kl", "KL divergence from the first policy", {"kl": "KL (nats)"}),
    Panel("entropy", "Entropy of the policy", {"entropy": "entropy (nats)"}),
    Panel(
        "held_out",
        "Held-out prompts",
        {"held_out_reward": "judge's reward", "held_out_audit": "audit judge's score", "held_out_truth": "truth"},
    ),
    Panel(
        "held_out_fidelity",
        "Agreement on held-out prompts",
        {"held_out_truth_fidelity": "with truth", "held_out_audit_fidelity": "with the audit"},
        _WITHIN,
        within=_CORRELATION,
    ),
    Panel(
        "unscored",
        "Responses without a reward",
        {"abstention_rate": "abstained", "failure_rate": "failed", "missing": "without a reward"},
        "Shares of the responses. A missing reward is no signal, and never 0.",
        within=_SHARE,
    ),
    Panel(
        "exploits",
        "Exploits",
        {
            "attack_rate": "address the judge",
            "certain_attack_rate": "certainly address it",
            "canary_win_rate": "decoys that won",
            "refusal_rate": "refuse",
            "repetition": "repeated text",
        },
        "Shares: of responses, of decoys shown, of four-word sequences.",
        within=_SHARE,
    ),
    Panel(
        "bias",
        "Correlations of scores and rewards",
        {
            "position_correlation": "with the position shown",
            "length_correlation": "with length",
            "markdown_correlation": "with formatting",
        },
        "Within groups. Below 0, the position shown first is favoured.",
        within=_CORRELATION,
    ),
    Panel(
        "noise",
        "Noise of the judge",
        {"noise_sd": "one score", "stderr_mean": "standard errors"},
        "Standard deviations, in units of the score.",
        within=_SIZE,
    ),
    Panel(
        "staleness",
        "Versions of the policy behind",
        {"staleness_mean": "mean", "staleness_max": "oldest"},
        "The policy's version when a rollout was judged, less the one that wrote it.",
    ),
    Panel(
        "versions",
        "Rollouts by version of the policy",
        {
            "stale_rate": "stale",
            "several_versions_rate": "of several versions",
            "mixed_group_rate": "groups of several versions",
        },
        "Shares. Stale is more than 4 versions behind.",
        within=_SHARE,
    ),
    Panel("flips", "Pairs that two orders put differently", {"order_flip_rate": "flipped pairs"}, within=_SHARE),
    Panel(
        "spread",
        "Spread of rewards within groups",
        {"reward_std": "standard deviation"},
        within=_SIZE,
    ),
    Panel(
        "ties",
        "Ties within groups",
        {"tie_rate": "tied pairs", "flat_group_rate": "groups all tied"},
        "Shares. A group that is all tied has no gradient.",
        within=_SHARE,
    ),
    Panel(
        "replies",
        "Replies that were not read as they came",
        {
            "parse_failure_rate": "unreadable",
            "incomplete_rate": "incomplete",
            "reask_rate": "re-asked",
            "unusable_rate": "billed and unusable",
        },
        "Shares of the answers, of first questions, of calls.",
        within=_SHARE,
    ),
    Panel("spent", "Spend so far", {"spent_usd": "US dollars"}, within=_SIZE),
    Panel(
        "used",
        "Tokens so far",
        {"used_input_tokens": "to the judge", "used_output_tokens": "from the judge"},
        within=_SIZE,
    ),
    Panel("calls", "Judge's answers for each group", {"calls": "answers"}, within=_SIZE),
    Panel(
        "latency",
        "Seconds an answer took",
        {"latency_p50": "half took less", "latency_p90": "nine in ten took less"},
        within=_SIZE,
    ),
    Panel(
        "actions",
        "What a response does",
        {"messages": "messages", "tool_calls": "tool calls"},
        "Means of a response.",
        within=_SIZE,
    ),
)
"""The charts of a watched run, in the order of the page; a chart without a known series is not shown."""

_WITH_GOLD: Final[Mapping[str, tuple[str, str]]] = {
    "reward": ("Rewards", "gold"),
    "fidelity": ("Agreement of rewards with gold", "with gold"),
    "gap": ("Reward less gold", "less gold"),
    "held_out": ("Held-out prompts", "gold"),
    "held_out_fidelity": ("Agreement on held-out prompts", "with gold"),
}
"""Titles, and the labels of what rewards are compared with, where that is the gold of the trajectories."""


def _with_gold(panel: Panel) -> Panel:
    if panel.key not in _WITH_GOLD:
        return panel
    title, label = _WITH_GOLD[panel.key]
    lines = {name: label if "truth" in name else said for name, said in panel.lines.items()}
    return replace(panel, title=title, lines={name: said for name, said in lines.items() if "audit" not in name})


LEDGER_PANELS: Final = tuple(map(_with_gold, PANELS))
"""The charts of a ledger's run, which has no audit, and whose groups may have gold."""
