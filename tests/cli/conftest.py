"""Fixtures of ledgers, for the tests of this folder."""

from servers.ledgers import location, postgres, postgres_url

__all__ = ["location", "postgres", "postgres_url"]
