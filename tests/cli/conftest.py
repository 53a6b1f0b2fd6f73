"""Fixtures of ledgers and of the command line, for the tests of this folder."""

from command_line import calipers
from servers.ledgers import location, postgres, postgres_url

__all__ = ["calipers", "location", "postgres", "postgres_url"]
