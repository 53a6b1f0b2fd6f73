"""What to ask next, given what is known; planners wrap one another."""
