"""The ledger in a Postgres database, which several machines share. Needs the extra ``calipers[postgres]``."""
