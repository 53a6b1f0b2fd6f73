"""What to ask next, given what is known: one planner a file; they wrap one another."""
