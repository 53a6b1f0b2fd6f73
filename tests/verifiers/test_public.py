"""The package's own names."""

import subprocess
import sys

import pytest

import calipers.verifiers as package


def test_every_public_name_is_there_and_described() -> None:
    assert dir(package) == sorted(package.__all__)
    for name in package.__all__:
        assert getattr(package, name).__doc__, name
    with pytest.raises(AttributeError, match="regexp"):
        package.regexp  # noqa: B018 - what is tested


def test_importing_it_starts_and_imports_nothing() -> None:
    code = (
        "import sys, calipers.verifiers; print(*{'subprocess', 'asyncio', 'jsonschema', 'decimal'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
