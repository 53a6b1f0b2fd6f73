"""Faults of servers, processes and replies, and attacks on judges."""
