"""What is published is whole: the wheel installs by name and runs, and the sdist can be worked in."""

from __future__ import annotations

import email
import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import calipers
from command_line import read_rows

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = "https://git.example/lab/calipers"
NEEDED = ("build", "hatchling", "twine")
FOLDERS = (".ci", ".github", "benchmarks", "deploy", "docs", "examples", "scripts", "src", "tests")
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        not all(map(find_spec, NEEDED)),
        reason="build, hatchling or twine is not installed: pip install --group package",
    ),
]


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> str:
    """What a command prints; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=110, check=False
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder that is no by-product of running it, by its path from the root of the project."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and with the wheel that is built from the sdist."""
    folder = tmp_path_factory.mktemp("index")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, CALIPERS_REPOSITORY=f"{ADDRESS}.git")
    return folder


@pytest.fixture(scope="module")
def wheel(index: Path) -> Path:
    (path,) = index.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def unpacked(index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist's folder."""
    target = tmp_path_factory.mktemp("sdist")
    (path,) = index.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(target, filter="data")
    (folder,) = target.iterdir()
    return folder


@pytest.fixture(scope="module")
def installed(index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment's folder of commands, with calipers installed by name from the index, and its dependencies."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, with_pip=False, symlinks=True)
    commands = home / ("Scripts" if os.name == "nt" else "bin")
    ours = run(commands / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (Path(ours) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    offline = ("--no-index", "--find-links", index, "--no-deps", "--ignore-installed", "--no-compile")
    run(sys.executable, "-m", "pip", "--python", commands / "python", "install", *offline, "calipers")
    return commands


def test_an_index_would_accept_both_without_a_warning(index: Path) -> None:
    assert len(list(index.iterdir())) == 2
    run(sys.executable, "-m", "twine", "check", "--strict", *index.iterdir())


def test_the_wheel_installed_by_name_is_what_runs(installed: Path, tmp_path: Path) -> None:
    home = run(installed / "python", "-c", "import calipers; print(calipers.__file__)", cwd=tmp_path).strip()
    assert Path(home).is_relative_to(installed.parent)
    assert run(installed / "calipers", "--version", cwd=tmp_path).split()[-1] == calipers.__version__
    groups = ROOT / "examples" / "groups.jsonl"
    run(installed / "calipers", "score", groups, "-o", "scored.jsonl", "--judge", "embedded", cwd=tmp_path)
    statuses = [one["status"] for one in read_rows(tmp_path / "scored.jsonl")]
    assert statuses == ["scored"] * len(read_rows(groups))


def test_the_wheel_has_every_file_of_the_package_and_the_sdist_what_a_clone_has(wheel: Path, unpacked: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {f"src/{name}": archive.read(name) for name in archive.namelist() if name.startswith("calipers/")}
    assert inside == files_of(ROOT / "src" / "calipers")
    expected = {path: data for folder in FOLDERS for path, data in files_of(ROOT / folder).items()}
    names = [*expected, *(path.name for path in ROOT.glob("*.md")), "LICENSE", "Makefile", "mkdocs.yml", "CITATION.cff"]
    assert [name for name in names if not (unpacked / name).exists()] == []
    assert [path for path, data in expected.items() if (unpacked / path).read_bytes() != data] == []


def test_every_target_of_the_makefile_finds_its_files_in_the_sdist(unpacked: Path) -> None:
    targets = re.findall(r"^\.PHONY: (.+)$", (unpacked / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    targets = [target for line in targets for target in line.split()]
    assert {"demo", "test", "check", "bench"} <= set(targets)
    for target in targets:
        recipe = run("make", "-n", target, cwd=unpacked)
        for path in re.findall(r"(?<![\w/.])((?:scripts|examples|benchmarks|\.ci)/[\w/.-]+)", recipe):
            assert (unpacked / path).exists(), f"make {target} needs {path}"
        for module in re.findall(r"-m ((?:scripts|benchmarks)[\w.]*)", recipe):
            assert (unpacked / module.replace(".", "/") / "__main__.py").exists(), f"make {target} runs {module}"


def test_tests_of_the_sdist_run_on_its_own_source(unpacked: Path) -> None:
    folders = ("tests/types", "tests/rewards", "tests/test_registry.py")
    pytest_ = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    printed = run(*pytest_, *folders, cwd=unpacked, PYTHONPATH=str(unpacked / "src"))
    assert re.search(r"^\d{2,} passed", printed, re.MULTILINE), printed


def test_the_metadata_has_addresses_in_place_of_paths_the_licence_and_the_versions_of_python(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        said = email.message_from_bytes(archive.read(name))
    links = re.findall(r"\]\(([^)\s]+)\)", str(said.get_payload()))
    assert len(links) > 20
    assert [link for link in links if not re.match(r"https://|#", link)] == []
    ours = [link for link in links if link.startswith(ADDRESS)]
    for link in ours:
        kind, path = re.fullmatch(rf"{ADDRESS}/(blob|raw)/HEAD/([^#]+)(?:#.*)?", link).groups()  # type: ignore[union-attr]
        assert (ROOT / path).exists(), link
        assert (kind == "raw") == path.endswith((".svg", ".png")), link
    assert any("/raw/" in link for link in ours)
    addresses = dict(one.split(", ", 1) for one in said.get_all("Project-URL", []))
    assert addresses.keys() == {"Repository", "Documentation", "Changelog", "Issues"}
    assert all(address.startswith(ADDRESS) for address in addresses.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert said.get_all("Classifier") == project["classifiers"]
    assert (said["License-Expression"], said["License-File"]) == ("Apache-2.0", "LICENSE")


def test_the_address_is_that_of_the_remotes_page_without_a_secret_and_without_one_nothing_leads_nowhere() -> None:
    written = runpy.run_path(str(ROOT / "scripts" / "package_metadata.py"))
    addresses = {
        "https://git.example/lab/calipers.git": ADDRESS,
        "https://someone:secret@git.example/lab/calipers": ADDRESS,
        "git@git.example:lab/calipers.git": ADDRESS,
        "ssh://git@git.example:22/lab/calipers.git/": ADDRESS,
        "http://git.example:8443/lab/calipers": "http://git.example:8443/lab/calipers",
        "file:///srv/git/calipers.git": None,
        "../calipers": None,
        "": None,
    }
    assert {remote: written["web_address"](remote) for remote in addresses} == addresses
    text = "![A\npicture](a.svg), [a\nlink](docs/a.md#b), [b](https://b.example), [c](#c)\n```text\n[x](y)\n```\n"
    expected = "*A\npicture*, a\nlink, [b](https://b.example), [c](#c)\n```text\n[x](y)\n```\n"
    assert written["description"](text, None) == expected
    badge = written["description"]("[![A badge](https://a.example/b.svg)](docs/a.md)", ADDRESS)
    assert badge == f"[![A badge](https://a.example/b.svg)]({ADDRESS}/blob/HEAD/docs/a.md)"
    assert written["urls"](None) == {}
