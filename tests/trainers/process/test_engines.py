"""A version nobody tried is said to be that, once asked for; a version that was tried, and none, are not."""

import warnings
from importlib.metadata import version

import pytest

from calipers.trainers.process.engines import warn_untested

HERE = ".".join(version("pytest").split(".")[:2])


def test_another_version_is_named_with_those_that_were_tried():
    with pytest.warns(UserWarning, match=rf"tested with pytest 0\.1, 0\.2, and {HERE}.* is installed"):
        warn_untested("pytest", "0.1", "0.2")


def test_a_version_that_was_tried_and_an_engine_from_source_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_untested("pytest", "0.1", HERE)
        warn_untested("no-such-engine-anywhere", "1.0")
