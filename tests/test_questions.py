"""Twenty questions of users: each is answered by one page, which the site's search finds first."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from scripts.site.pages import place

from test_docs import anchors

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "out" / "site"

QUESTIONS: dict[str, dict[str, str]] = {
    "What does my trainer get if a judgment fails?": {
        "failed judgment": "failure-contract.md#a-failed-judgment-in-each-trainer",
        "judge fails TRL": "trainers/trl.md#when-judging-fails",
        "judge fails verl": "trainers/verl.md#when-judging-fails",
    },
    "How noisy is the judge, and how often do I ask it?": {
        "noisy judge": "protocols.md#noise-and-position-bias-orders-and-samples",
        "repeat calls noise": "protocols.md#noise-and-position-bias-orders-and-samples",
    },
    "What if thinking uses up the token limit?": {
        "thinking token limit": "judges.md#thinking-reasoning-and-the-token-limit",
        "reasoning cut off": "judges.md#thinking-reasoning-and-the-token-limit",
        "the reasoning never ends": "judges.md#thinking-reasoning-and-the-token-limit",
    },
    "How do I turn thinking off, or on?": {
        "turn off thinking": "judges.md#thinking-reasoning-and-the-token-limit",
        "disable thinking": "judges.md#thinking-reasoning-and-the-token-limit",
        "qwen3 enable_thinking": "judges.md#thinking-reasoning-and-the-token-limit",
        "gpt-oss reasoning effort": "judges.md#thinking-reasoning-and-the-token-limit",
    },
    "What happens to long trajectories?": {
        "long trajectories": "transcript.md#long-trajectories",
        "context length exceeded": "troubleshooting.md#the-context-window",
        "too long context window": "troubleshooting.md#the-context-window",
    },
    "Which rollouts form a group?": {
        "which rollouts group": "groups-file.md#files-of-rollouts-which-rollouts-form-a-group",
    },
    "How do I judge again only what failed?": {
        "judge only failed groups again": "ledger.md#retry-failed-groups-resume-a-run",
        "retry failed": "ledger.md#retry-failed-groups-resume-a-run",
        "rerun failed": "ledger.md#retry-failed-groups-resume-a-run",
        "continue after crash": "ledger.md#retry-failed-groups-resume-a-run",
        "resume": "ledger.md#retry-failed-groups-resume-a-run",
    },
    "How do I cap the dollars spent?": {
        "dollar cap": "cost-and-limits.md#budgets-and-dollar-caps",
        "spending limit": "cost-and-limits.md#budgets-and-dollar-caps",
        "budget": "cost-and-limits.md#budgets-and-dollar-caps",
    },
    "How do I keep to a rate limit?": {
        "rate limit": "cost-and-limits.md#rate-limits-concurrency-requests-per-minute",
        "requests per minute": "cost-and-limits.md#rate-limits-concurrency-requests-per-minute",
        "too many requests": "cost-and-limits.md#rate-limits-concurrency-requests-per-minute",
        "429": "troubleshooting.md#slow-judging-speed-it-up",
    },
    "Does the judge see images?": {
        "images": "transcript.md#images-and-other-binary-data",
        "multimodal": "transcript.md#images-and-other-binary-data",
        "vision judge": "transcript.md#images-and-other-binary-data",
    },
    "How does each row get a rubric of its own?": {
        "rubric per row": "rubrics.md#data-sets-with-a-rubric-per-row",
        "rubric for each prompt": "rubrics.md#criteria-for-each-prompt",
    },
    "How do I set headers, certificates and a proxy?": {
        "custom headers": "judges.md#headers-certificates-proxy",
        "self-signed certificate": "judges.md#headers-certificates-proxy",
        "proxy": "judges.md#headers-certificates-proxy",
    },
    "How do I run the judge on my own GPUs?": {
        "own GPUs": "judges.md#a-judge-on-your-own-gpus",
        "judge same GPU": "judges.md#judge-on-the-same-gpu-as-the-trainer",
    },
    "May the judge be of the policy's model family?": {
        "same model family": "panels.md#self-preference-use-another-model-family",
        "self-preference": "panels.md#self-preference-use-another-model-family",
    },
    "How do I use two rewards together?": {
        "two rewards together": "hybrid.md",
        "combine rewards": "hybrid.md",
    },
    "Can scores come from log-probabilities?": {
        "log-probabilities": "protocols.md#expected-scores-from-logprobs-log-probabilities",
        "logprobs": "protocols.md#expected-scores-from-logprobs-log-probabilities",
    },
    "How do I replay a run?": {
        "replay": "ledger.md#replay-a-run",
        "replay without network": "ledger.md#replay-a-run",
    },
    "How do I compare judges?": {
        "compare judges": "start.md#compare-judges",
        "best judge": "start.md#compare-judges",
    },
    "What should raise an alarm?": {
        "alarm": "health.md#alarms",
        "judge drift": "health.md",
    },
    "How do I judge on several nodes?": {
        "several nodes": "judges.md#several-nodes",
        "multi-node": "judges.md#several-nodes",
        "multiple machines": "judges.md#several-nodes",
    },
}
"""Questions, what their users type into the site's search, and the page and section that answers."""

WORDINGS = """
judge timeout: failure-contract troubleshooting judges doctor
reward always 0.5: failure-contract troubleshooting
all rewards none: troubleshooting failure-contract rewards
nan rewards: failure-contract trainers/index python
json parse error: reading troubleshooting failure-contract
clear cache: ledger troubleshooting
disable cache: ledger troubleshooting
vllm judge: start judges
azure openai: judges
bedrock: judges
openrouter key: judges
api key: judges security start
temperature 0: troubleshooting judges protocols
reproducible: ledger design protocols
reference answer: trainers/trl rubrics groups-file trainers/verl
change judge prompt: protocols rubrics
custom rubric: rubrics trainers/trl
math verifier: verifiers
unit tests reward: verifiers
run code safely: verifiers security
length bias: study-findings health troubleshooting
position bias: protocols study-findings
reward hacking: troubleshooting health
prompt injection: hostile
wandb: python
estimate cost: cost-and-limits
speed up judging: troubleshooting cost-and-limits performance
concurrency: cost-and-limits troubleshooting judges
unsloth: trainers/trl trainers/index
swap ruler: start trainers/art
multi turn agents: transcript groups-file trainers/trl
offline install: installation
human labels: labels
group size: protocols trainers/trl trainers/index failure-contract
event loop already running: python
docker: server
share ledger: ledger
compare two models: start calibration calibration-figures
evaluate checkpoints: trainers/trl trainers/verl protocols
stop training early: trainers/index
judge server down: judges troubleshooting trainers/index server
ollama context: start judges troubleshooting
all scores equal: troubleshooting rewards health
judge prefers first answer: protocols study-findings testing
score out of 10: troubleshooting reading
cheaper judge: cost-and-limits distil troubleshooting calibration
local judge: distil start judges
see raw replies: troubleshooting ledger report
pandas dataframe: python
langgraph: groups-file trainers/trl
mlflow: python
ray: cost-and-limits
stale rollouts: health
dynamic sampling: rewards
dr grpo: rewards
identical completions: failure-contract transcript trainers/trl
empty completion: trainers/index trainers/trl
silence warnings: health
environment variables: cli judges
config file: cli
exit code: cli
python 3.13: installation
windows support: installation security
pairwise comparison: protocols
standard error: protocols rewards
hide reasoning from judge: transcript
ifeval: verifiers
healthbench: rubrics
offpolicy nan loss: trainers/index failure-contract
gold scores: calibration labels start groups-file
"""
"""Other searches of tired engineers, and the pages that answer."""

SEARCHES = {typed: answer for searches in QUESTIONS.values() for typed, answer in searches.items()}


def test_each_of_twenty_questions_has_a_section_that_answers() -> None:
    assert len(QUESTIONS) == 20
    missing = []
    for answer in SEARCHES.values():
        page, _, anchor = answer.partition("#")
        path = ROOT / "docs" / page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            missing.append(answer)
    assert missing == []


def found(searches: list[str], site: Path = SITE) -> list[list[str]]:
    """What a site's search finds for each of some searches, first results first."""
    index = site / "search.json"
    newest = max(path.stat().st_mtime for path in (ROOT / "docs").rglob("*.md"))
    if not index.exists() or index.stat().st_mtime < newest:
        pytest.skip("the site is not built from these pages: make docs")
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    command = [node, str(ROOT / "tests" / "site_search.js"), str(site)]
    done = subprocess.run(command, input=json.dumps(searches), capture_output=True, text=True, check=True, timeout=60)
    places: list[list[str]] = json.loads(done.stdout)
    return places


def test_the_sites_search_finds_the_answer_of_each_question_first() -> None:
    wrong = []
    for (typed, answer), places in zip(SEARCHES.items(), found([*SEARCHES]), strict=True):
        page, mark, anchor = answer.partition("#")
        expected = place(f"docs/{page}").removesuffix(".md") + ".html" + mark + anchor
        if places[:1] != [expected]:
            wrong.append(f"{typed!r} finds {places[:1]}, and not {expected}")
    assert wrong == []


def test_nine_of_ten_other_wordings_find_an_answer_among_the_first_three() -> None:
    expected = {
        typed: pages.split() for typed, _, pages in (row.partition(": ") for row in WORDINGS.split("\n") if row)
    }
    missed = {
        typed: places[:3]
        for typed, places in zip(expected, found([*expected]), strict=True)
        if not {place.partition(".html")[0] for place in places[:3]} & {*expected[typed]}
    }
    assert len(missed) <= len(expected) / 10, missed


def test_the_search_ranks_headings_above_text_knows_word_forms_and_requires_no_word(tmp_path: Path) -> None:
    texts = {"a.html": "Budgets|Nothing.", "b.html": "Other|A budget, a certificate.", "c.html": "Other|Else."}
    rows = [text.split("|") for text in texts.values()]
    items = [
        {"location": place, "level": 1, "title": title, "text": text}
        for place, (title, text) in zip(texts, rows, strict=True)
    ]
    workers = tmp_path / "assets" / "javascripts" / "workers"
    workers.mkdir(parents=True)
    shutil.copyfile(ROOT / "scripts" / "site" / "search.js", workers / "search.js")
    (tmp_path / "search.json").write_text(json.dumps({"items": items}), encoding="utf-8")
    cases = {"budget": ["a.html", "b.html"], "budgeting": ["a.html", "b.html"], "the certif": ["b.html"],
             "certifcates unheard": ["b.html"], "unheard": []}  # fmt: skip
    assert dict(zip(cases, found([*cases], tmp_path), strict=True)) == cases
