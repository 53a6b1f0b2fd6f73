"""Missing rewards: what the trainer gets instead, what is logged about them, and when they end a run."""
