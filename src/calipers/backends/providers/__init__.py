"""The backends of judges, one file per API, and the table of providers."""
