"""How well replies, answers and rows are read."""
