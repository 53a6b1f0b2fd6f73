"""The browser of the tests of reports."""

from report_browser import _driver, browser, pytest_collection_modifyitems

__all__ = ["_driver", "browser", "pytest_collection_modifyitems"]
