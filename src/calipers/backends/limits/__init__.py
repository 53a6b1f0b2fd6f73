"""Wrappers around a backend: retries, concurrency, rates, budgets, pools of servers. ``bounds`` puts them together."""
