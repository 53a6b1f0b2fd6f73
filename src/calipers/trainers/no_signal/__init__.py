"""What reaches a trainer where a reward is missing, what the log says of it, and when a run ends because of it."""
