"""The files in deploy/: every flag, file, variable and metric that they name exists. No container is built here."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from calipers.cli import app
from servers.faulty_server import FaultyServer, error

for needed in ("msgspec", "starlette", "uvicorn"):
    pytest.importorskip(needed, reason="the server's packages are not installed: pip install 'calipers[server]'")
from served import THREE, served  # noqa: E402 - needs the packages looked for above

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def parsed(name: str) -> Any:
    yaml = pytest.importorskip("yaml", reason="pyyaml is not installed: pip install 'calipers[yaml]'")
    return yaml.safe_load((DEPLOY / name).read_text())


def require_command(arguments: list[str]) -> None:
    """Parse the arguments of ``calipers`` as the command does."""
    name, *rest = arguments
    command = app.commands[name]
    with click.Context(app, info_name="calipers") as above, command.make_context(name, rest, parent=above):
        pass


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile with their arguments."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Containerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def test_the_container_copies_what_is_there_and_installs_extras_that_are_declared():
    copied = [path for name, rest in instructions() if name == "COPY" for path in rest.split()[:-1]]
    assert copied
    assert [path for path in copied if not (ROOT / path).exists()] == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = re.findall(r"\[([a-z,]+)\]\"", " ".join(rest for name, rest in instructions() if name == "RUN"))
    assert len(asked) == 2
    assert {one for several in asked for one in several.split(",")} <= extras.keys()


def test_the_container_runs_a_command_that_calipers_has_as_an_ordinary_user():
    last = dict(instructions())
    assert json.loads(last["ENTRYPOINT"]) == ["calipers"]
    require_command(json.loads(last["CMD"]))
    assert last["USER"] == "calipers"
    assert last["WORKDIR"] == last["VOLUME"], "a ledger in SQLite outlives its container"
    assert last["STOPSIGNAL"] == "SIGTERM"


async def test_the_containers_health_check_asks_a_route_that_answers(faulty: FaultyServer):
    check = json.loads(re.search(r"CMD (\[.*\])", dict(instructions())["HEALTHCHECK"]).group(1))  # type: ignore[union-attr]
    compile(check[2], "HEALTHCHECK", "exec")
    asked = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", check[2])
    assert asked is not None
    assert asked[1] == str(app.commands["serve"].params[1].default) == dict(instructions())["EXPOSE"]
    async with served(faulty) as server:
        assert (await server.get(asked[2])).status == 200


def test_compose_gives_the_server_flags_that_it_has_and_time_to_end():
    services = parsed("compose.yaml")["services"]
    server = services["server"]
    require_command([re.sub(r"\$\{\w+[^}]*\}", "openai/gpt-5-mini", one) for one in server["command"]])
    flags = dict(one.split("=", 1) for one in server["command"] if "=" in one)
    assert int(server["stop_grace_period"].removesuffix("s")) > int(flags["--drain"])
    assert server["ulimits"]["nofile"] > int(flags["--max-waiting"])
    assert set(server["depends_on"]) <= set(services)
    assert "postgres@" not in str(server["command"]), "the password is not in the command"
    assert all(port.startswith("127.0.0.1:") for one in services.values() for port in one.get("ports", ()))


def test_compose_mounts_files_and_volumes_that_are_there_and_reads_variables_that_the_example_has():
    compose = parsed("compose.yaml")
    services = compose["services"].values()
    for source in (mount.partition(":")[0] for one in services for mount in one.get("volumes", ())):
        assert (DEPLOY / source).is_file() if source.startswith("./") else source in compose["volumes"], source
    assert {secret for one in services for secret in one.get("secrets", ())} <= set(compose["secrets"])
    server = compose["services"]["server"]
    assert (DEPLOY / server["build"]["context"] / server["build"]["dockerfile"]).is_file()
    assert server["env_file"] == ".env"  # which has the judge's key
    used = {*re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text())}
    used |= {one["environment"] for one in compose["secrets"].values()}
    assert used | {"OPENAI_API_KEY"} == {*re.findall(r"^(\w+)=", (DEPLOY / "env.example").read_text(), re.MULTILINE)}


def test_prometheus_scrapes_the_server_that_compose_starts_with_the_secret_that_it_mounts():
    prometheus, compose = parsed("prometheus.yml"), parsed("compose.yaml")
    (scrape,) = prometheus["scrape_configs"]
    host, port = scrape["static_configs"][0]["targets"][0].split(":")
    assert host in compose["services"]
    assert compose["services"][host]["ports"][0].endswith(f":{port}")
    secret = Path(scrape["authorization"]["credentials_file"])
    assert (str(secret.parent), secret.name in compose["secrets"]) == ("/run/secrets", True)
    assert all((DEPLOY / one).is_file() for one in prometheus["rule_files"])


async def test_every_metric_and_label_of_a_rule_is_on_the_servers_page(faulty: FaultyServer):
    faulty.script(error(400, "scripted: this question cannot be answered"))
    async with served(faulty) as server:
        await server.rollouts(*THREE)
        page = (await server.get("/metrics")).text
    rules = {rule["alert"]: rule for group in parsed("alerts.yml")["groups"] for rule in group["rules"]}
    values = dict(re.findall(r"^(\w+)(?:\{.*\})? (\S+)", page, re.MULTILINE))
    for name, rule in rules.items():
        assert {*re.findall(r"\bcalipers_\w+", rule["expr"])} <= values.keys(), name
        labels = re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))
        assert [one for one in labels if not re.search(rf'\{{.*\b{one}="', page)] == [], name
    bound = float(rules["CalipersJudgeDead"]["expr"].partition(" > ")[2])
    assert float(values["calipers_judge_failure_rate"]) > bound


def test_promtool_finds_the_rules_and_their_own_tests_right(tmp_path: Path):
    tool = shutil.which("promtool") or shutil.which("promtool", path=str(Path(sys.executable).parent))
    if tool is None:
        pytest.skip("promtool is not installed; Debian's package prometheus has it")
    for name in ("alerts.yml", "alerts_test.yml"):
        shutil.copy(DEPLOY / name, tmp_path)
    (tmp_path / "token").touch()
    config = (DEPLOY / "prometheus.yml").read_text().replace("/run/secrets/calipers_token", str(tmp_path / "token"))
    (tmp_path / "prometheus.yml").write_text(config)
    for command in ("check rules alerts.yml", "test rules alerts_test.yml", "check config prometheus.yml"):
        asked = [tool, *command.split()]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
