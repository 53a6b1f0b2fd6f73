"""The metrics page."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from calipers.errors import ConfigError
from calipers.monitoring.exporter import Exporter


def fetched(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as page:
        assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return str(page.read(), "utf-8")


def test_it_serves_the_numbers_of_the_moment():
    numbers = {"judge/groups": 1.0}
    with Exporter(lambda: numbers, port=0, labels={"run": "r"}) as exporter:
        assert 'calipers_judge_groups{run="r"} 1.0' in fetched(exporter.port, "/metrics")
        numbers["judge/groups"] = 2.0
        assert 'calipers_judge_groups{run="r"} 2.0' in fetched(exporter.port, "/metrics?x=1")
        with pytest.raises(urllib.error.HTTPError, match="404") as found:
            fetched(exporter.port, "/")
        found.value.close()


def test_a_port_that_is_taken_is_said_plainly_and_closing_frees_it():
    with Exporter(dict, port=0) as first, pytest.raises(ConfigError, match=f"127.0.0.1:{first.port}"):
        Exporter(dict, port=first.port)
    Exporter(dict, port=first.port).close()
