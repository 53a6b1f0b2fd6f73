"""Writes a plan as a folder: scripts as they are in ``templates``, and what they read of the study.

Not responsible for what is planned (``plan``) or for checking it (``problems``).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.study.export.data_sets import data_sets
from calipers.study.export.evaluation import GRADING, evaluator_options, score_settings
from calipers.study.export.layout import Server
from calipers.study.export.overrides import overrides_file
from calipers.study.export.plan import BASE, IFEVAL, Plan
from calipers.study.export.recipes import family_of
from calipers.study.export.run_settings import LONGEST_RESPONSE, TENSOR_PARALLEL, Run, all_settings

FORMAT: Final = "calipers-cluster-study/1"
_PACKAGE: Final = "calipers.study.export"
_IFEVAL_PROMPTS: Final = (
    "https://raw.githubusercontent.com/google-research/google-research/master/instruction_following_eval/data/"
    "input_data.jsonl"
)
_NO_SERVER: Final = "-"
_PLACES: Final = re.compile(r"(SLOT|GPUS|FIRST_PORT|POLICY_PORT)=|\s*'?\+calipers\.base_url=")
"""Lines of a run's files that say where on the node it works."""


def plan_files(plan: Plan, toml: str) -> dict[str, str]:
    """Return the files of an exported plan: paths in its folder, and their texts. ``toml`` is the study's file."""
    found = {one.name: one.read_text(encoding="utf-8") for one in _templates() if one.name.endswith(".sh")}
    found |= {
        f"chat/{one.name}": one.read_text(encoding="utf-8") for one in _templates() if one.name.endswith(".jinja")
    }
    found |= {
        "README.md": _readme(plan),
        "study.toml": toml,
        "study.env": _study_env(plan),
        "data.txt": "".join(f"{line}\n" for line in _data_lines(plan)),
        "evaluation.txt": "".join(f"{line}\n" for line in _evaluation_lines(plan)),
        "schedule.txt": "".join(f"{line}\n" for line in _schedule(plan)),
        "rules.toml": score_settings(dict(GRADING)),
        "evaluation.toml": _evaluation_settings(plan),
        "plan.json": json.dumps(plan_as_json(plan), indent=1, ensure_ascii=False) + "\n",
        f"runs/{BASE}/run.env": _run_env(plan, None),
    }
    for server in plan.layout.servers.values():
        found[f"judges/{server.judge}.env"] = _judge_env(server)
    for run in plan.runs:
        settings = all_settings(run, plan.study.settings, plan.study.variants)
        found[f"runs/{run.name}/run.env"] = _run_env(plan, run)
        found[f"runs/{run.name}/overrides.sh"] = f"# Settings of verl for {run.name}.\n{overrides_file(settings)}"
    return found


def write_plan(found: Mapping[str, str], folder: Path) -> None:
    """Write the files of an exported plan to ``folder``. Raises ConfigError if they cannot be written."""
    try:
        for name, text in found.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            if name.endswith(".sh") and "/" not in name and name != "lib.sh":
                path.chmod(0o755)
    except OSError as error:
        raise ConfigError(f"--out {folder}: cannot be written: {error.strerror or error}") from error


def require_replaceable_folder(folder: Path, found: Mapping[str, str]) -> None:
    """Raise ConfigError unless the files ``found`` of an exported plan may be written to ``folder``.

    It is new, empty, or an earlier export of a study, which keeps its results. Results of runs whose settings are now
    others would be taken for those of the new settings, so they have to be removed first.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--out {folder}: is a file; name a folder")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    try:
        known = json.loads((folder / "plan.json").read_text(encoding="utf-8")).get("format") == FORMAT
    except (OSError, ValueError, AttributeError):
        known = False
    if not known:
        raise ConfigError(f"--out {folder}: has other files in it than an exported study's; name a new folder")
    if changed := sorted(_changed_runs(folder, found)):
        raise ConfigError(
            f"--out {folder}: has checkpoints or results of {', '.join(changed)}, made with other settings: name a new "
            "folder, or remove checkpoints/RUN, models/RUN-* and results/RUN of these runs"
        )


def _changed_runs(folder: Path, found: Mapping[str, str]) -> Iterator[str]:
    """Yield the runs that have left something in an export's folder, and whose settings are others in ``found``."""
    for path in found:
        parts = path.split("/")
        if parts[0] != "runs" or parts[-1] != "run.env":
            continue
        name = parts[1]
        left = [folder / kind / name for kind in ("checkpoints", "results")]
        names = (path, f"runs/{name}/overrides.sh")
        if any(_has_files(one) for one in left) and any(
            _lasting(_text_of(folder / one)) != _lasting(found.get(one, "")) for one in names
        ):
            yield name


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _lasting(text: str) -> list[str]:
    """Return the lines of a run's file that decide what it trains: not where on the node it does."""
    return [line for line in text.splitlines() if not _PLACES.match(line)]


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """Return what the result table has to know of an exported plan."""
    study = plan.study
    return {
        "format": FORMAT,
        "title": study.title,
        "model": study.settings.model,
        "steps": study.settings.steps,
        "evaluate": list(study.settings.evaluate),
        "evaluator": study.evaluator,
        "runs": [
            {
                "name": run.name,
                "arm": run.arm.name,
                "against": run.arm.against,
                "judge": run.arm.judge,
                "recipe": run.recipe.name,
                "seed": run.seed,
            }
            for run in plan.runs
        ],
        "left_out": dict(study.arms.left_out),
    }


def _templates() -> Iterator[Any]:
    return (files(_PACKAGE) / "templates").iterdir()


def _study_env(plan: Plan) -> str:
    servers, evaluator = plan.layout.servers, plan.study.evaluator or _NO_SERVER
    ports = [slot.first_port for slot in plan.layout.slots] + [slot.policy_port for slot in plan.layout.slots]
    ports += [server.first_port + copy for server in servers.values() for copy in range(server.copies)]
    return _env({
        "KEYS": " ".join(plan.keys),
        "NODE_GPUS": plan.study.settings.gpus,
        "PORTS": " ".join(map(str, ports)),
        "SLOTS": " ".join(str(slot.number) for slot in plan.layout.slots),
        "JUDGES": " ".join(dict.fromkeys(_server_name(run) for run in plan.runs)),
        "EVALUATOR": evaluator if evaluator in servers else _NO_SERVER,
    })  # fmt: skip


def _run_env(plan: Plan, run: Run | None) -> str:
    """Return what the scripts have to know of a run; without one, of the policy before training."""
    settings = all_settings(run or plan.runs[0], plan.study.settings, plan.study.variants)
    slot = run.slot if run is not None else plan.layout.slots[0]
    family = family_of(plan.study.settings.model)
    template = f"chat/{family.chat_template}" if family and family.chat_template else ""
    arguments = dict(family.chat_template_arguments) if family else {}
    parameters = ["--param", f"chat_template_kwargs={json.dumps(arguments)}"] if arguments else []
    return _env({
        "MODEL": plan.study.settings.model,
        "CHAT_TEMPLATE": template,
        "SLOT": slot.number,
        "GPUS": ",".join(map(str, slot.gpus)),
        "GPU_COUNT": len(slot.gpus),
        "FIRST_PORT": slot.first_port,
        "POLICY_PORT": slot.policy_port,
        "TENSOR_PARALLEL": settings[TENSOR_PARALLEL],
        "MAX_TOKENS": settings[LONGEST_RESPONSE],
        "PARAMETERS": parameters,
    })  # fmt: skip


def _judge_env(server: Server) -> str:
    width = server.tensor_parallel
    copies = [server.gpus[start : start + width] for start in range(0, len(server.gpus), width)]
    return _env({
        "MODEL": server.model,
        "TENSOR_PARALLEL": width,
        "GPUS_OF_COPIES": " ".join(",".join(map(str, copy)) for copy in copies),
        "FIRST_PORT": server.first_port,
        "ARGUMENTS": list(server.arguments),
    })  # fmt: skip


def _env(variables: Mapping[str, Any]) -> str:
    return "".join(f"{name}={_bash(value)}\n" for name, value in variables.items())


def _bash(value: object) -> str:
    if isinstance(value, list):
        return f"({' '.join(map(shlex.quote, value))})"
    return shlex.quote(str(value))


def _data_lines(plan: Plan) -> Iterator[str]:
    sets = data_sets()
    yield from (f"{name} {form} {sets[name].get}" for name, form in plan.data_files)
    if IFEVAL in plan.study.settings.evaluate:
        yield f"{IFEVAL} none {_IFEVAL_PROMPTS}"


def _evaluation_lines(plan: Plan) -> Iterator[str]:
    sets = data_sets()
    for name in plan.study.settings.evaluate:
        known = sets.get(name)
        yield f"{name} {known.samples if known else 1} {'judge' if known and known.judged else 'rules'}"


def _schedule(plan: Plan) -> Iterator[str]:
    yield f"none {plan.layout.slots[0].number} {BASE}"
    yield from (f"{_server_name(run)} {run.slot.number} {run.name}" for run in plan.runs)


def _server_name(run: Run) -> str:
    return run.server.judge if run.server is not None else _NO_SERVER


def _evaluation_settings(plan: Plan) -> str:
    name = plan.study.evaluator
    judge = plan.study.judges[name] if name is not None else None
    if name is None or judge is None or judge.model is None:
        return score_settings(dict(GRADING))
    return score_settings(evaluator_options(judge.model, judge.options or {}, plan.layout.servers.get(name)))


def _readme(plan: Plan) -> str:
    study, layout = plan.study, plan.layout
    shares = [f"- runs in slot {slot.number}: GPUs {', '.join(map(str, slot.gpus))}" for slot in layout.slots]
    shares += [
        f"- judge {one.judge} ({one.model}, {one.copies} × {one.tensor_parallel} GPUs): "
        f"GPUs {', '.join(map(str, one.gpus))}"
        for one in layout.servers.values()
    ]
    rows = [f"| {run.name} | {run.arm.name} | {run.recipe.title} | {run.slot.number} |" for run in plan.runs]
    rows += [f"| (left out) | {name} | {why} | |" for name, why in study.arms.left_out.items()]
    text = (files(_PACKAGE) / "templates" / "README.md").read_text(encoding="utf-8")
    values = {
        "TITLE": study.title or "A study on a cluster",
        "RUNS": str(len(plan.runs)),
        "MODEL": study.settings.model,
        "STEPS": str(study.settings.steps),
        "GPUS": str(study.settings.gpus),
        "LAYOUT": "\n".join(shares),
        "TABLE": "\n".join(["| run | arm | recipe | slot |", "|---|---|---|---|", *rows]),
        "KEYS": ", ".join(plan.keys) or "none are needed",
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
