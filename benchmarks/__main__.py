"""Lists the benchmarks, or runs them: ``python -m benchmarks [--list] [NAME...]``; no name runs them all, in turn."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.environment import ROOT

BENCHMARKS = {
    "reading.extraction": "scores read from good, damaged and hostile replies: right, missed, wrong, and time",
    "reading.takebacks": "verdicts taken back, void or quoted, in many languages: noticed, and what looks like it: "
    "left alone",
    "reading.recorded_replies": "choices, rankings and verdicts read from recorded replies: right, missed, wrong "
    "(recorded data)",
    "reading.reply_shapes": "scores read from generated replies of many shapes, languages and scales: exact, missed, "
    "wrong",
    "reading.ifeval": "agreement with IFEval's recorded verdicts, the four accuracies, checks a second (recorded data)",
    "reading.maths": "mathematical answers: right ones refused, wrong ones accepted among near misses, by kind",
    "reading.rubrics": "the study's scores from raw text, replies that broke its parser, tokens of grading (recorded "
    "data)",
    "fidelity.learning": "asking on while unsettled, and what a ledger teaches: fidelity and honest errors, simulated "
    "judges",
    "fidelity.protocols": "listwise, pairwise and pointwise at equal judge tokens, simulated judges",
    "fidelity.expected": "means over digits beside the likeliest digit, at equal calls, simulated judges",
    "fidelity.recommendation": "whether calibrate recommends the best way to ask, over a grid of simulated judges",
    "fidelity.gradient": "how near a batch's advantages come to the true ones: plain, tied, weighted by reliability "
    "(recorded data)",
    "fidelity.contrast_weights": "points of criteria that follow the verdicts: cosine to true rewards and noise, "
    "simulated groups",
    "fidelity.reliability": "whether stated errors are honest: realised over predicted squared error, disjoint calls "
    "(recorded data)",
    "fidelity.batch_budget": "a budget of presentations for a batch, shared out by value, by the tolerance, evenly "
    "(recorded data)",
    "fidelity.weighted_training": "whether weights by reliability teach a softmax policy more, each at its best rate",
    "fidelity.ties": "what near ties and length control cost a judge's signal, beside chains of near scores, simulated "
    "groups",
    "fidelity.recalibration": "how often a recalibration's alarm is false, and how soon it notices a fall",
    "fidelity.stop_rules": "how often a watched run's stop rules are broken by chance, and how soon by a growing gap",
    "fidelity.members": "asking on about single members instead of whole groups (recorded data, simulated judges)",
    "fidelity.recorded_judges": "how close rewards come to gold on recorded judges (recorded data)",
    "fidelity.search": "what calibrate's search for judges and panels is worth on other halves of the prompts "
    "(recorded data)",
    "fidelity.cascade": "a cheap judge where it is sure, a better one elsewhere, beside random routing and an oracle "
    "(recorded data)",
    "fidelity.distil": "local judges' agreement with their teachers on prompts held out, their cost, tricks (recorded "
    "data)",
    "fidelity.near_duplicates": "whether candidates alike but for white space, case, time or punctuation get one "
    "verdict (recorded data)",
    "fidelity.elision": "long groups shortened: what is left out, and whether that ranks (recorded data)",
    "speed.spine": "groups/s and CPU a group beside openpipe-art's RULER and a bare aiohttp loop",
    "speed.transcripts": "CPU a group on recorded agents beside openpipe-art, large groups, the event loop, the search "
    "for injection (recorded data)",
    "speed.stages": "CPU of one group by stage and size (recorded data)",
    "speed.command": "calipers score on 100,000 groups: groups/s, memory, size of the ledger (recorded data)",
    "speed.imports": "seconds and MB of an import, and of making a judge, beside openpipe-art's",
    "speed.memory": "resident size while 100,000 groups stream through",
    "speed.server": "rollouts a second of calipers serve, the time to an answer, memory of waiting rollouts, CPU a "
    "rollout",
    "speed.replicas": "rollouts a second and CPU a rollout of one server and of two with a ledger in Postgres",
    "speed.warm": "groups/s when the ledger already holds every answer",
    "speed.ledger": "groups/s that a ledger records in SQLite and, where --postgres names one, in Postgres",
    "speed.prefix_cache": "the share of a group's questions that a prefix cache can hold (a groups file of yours)",
    "speed.criteria": "calls and characters that written criteria cost, by protocol, scripted writer (recorded data)",
    "speed.tokens": "judge input tokens beside RULER's prompt (recorded data)",
    "speed.streams": "CPU an event of a streamed answer",
    "speed.sandbox": "rule functions given as source text: checks a second, CPU a check",
    "speed.simulation": "steps/s and memory of calipers study simulate, by kind of arm",
    "speed.report": "the report's page: writing 10,000 groups, and opening and scrolling them in Chromium",
    "speed.label": "the label page: from the command to the first group on the screen, and memory, for 5,000 groups",
    "speed.embedded": "time the embedded judge takes",
    "faults.large_replies": "peak memory while 64 replies of 15 MB come at once, and how many are read",
    "faults.detector": "attacks found, and harmless texts accused, by language and kind",
    "faults.faults": "every fault of wire and reply at 30 % of calls: wrong, lost, leaked",
    "faults.crashes": "calipers score killed at random moments: reruns equal, calls paid twice",
    "faults.server": "calipers serve in chaos: replicas, judge and Postgres killed, requests cut: wrong, hung, paid "
    "again",
    "faults.attacks": "attacks on judges that obey them, with and without each defence (recorded data)",
    "faults.tampering": "tampered tests in coding rollouts: found with tools over artifacts, and without",
    "trainers.trl_overlap": "what a TRL step of 64 groups waits for a judge of 2 s, and the adapter's CPU a group",
    "trainers.adapters": "CPU a group of trainers' adapters, and what is left to do when a group's last rollout comes",
    "trainers.ungraded": "5 % of answers ungraded: signs of their siblings' advantages that stay, in TRL's and verl's "
    "own code",
}


def main(names: list[str]) -> int:
    """Run each in a process of its own; the exit code is 1 when one of them failed to run."""
    unknown = [name for name in names if name not in {*BENCHMARKS, "--list"}]
    if unknown or "--list" in names:
        print("\n".join(f"{name:<28}{what}" for name, what in BENCHMARKS.items()))
        return 2 if unknown else 0
    failed = []
    for name in names or BENCHMARKS:
        print(f"\n=== {name}: {BENCHMARKS[name]}", flush=True)
        run = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=ROOT, check=False)  # noqa: S603 - ours
        failed += [name] if run.returncode else []
    if failed:
        print(f"\ncould not be run: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
