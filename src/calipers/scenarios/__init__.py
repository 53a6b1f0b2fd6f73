"""Training inputs for a task without data: written by a model, split, and kept where groups of rollouts differ."""
