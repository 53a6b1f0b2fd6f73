"""Plans what to ask the judges next, given the answers so far. Planners wrap one another."""
