"""How close rewards come to gold, and what the ways of asking are worth."""
