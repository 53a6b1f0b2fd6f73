"""How one question is framed and its answer read: one protocol a file."""
