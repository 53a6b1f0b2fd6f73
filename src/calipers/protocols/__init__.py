"""Protocols: how a question to the judge is worded, and how the reply is read. Each protocol has its own file."""
