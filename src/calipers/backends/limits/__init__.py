"""The wrappers around a call: retries, concurrency, rates, budgets, pools of servers. ``bounds`` puts them together."""
