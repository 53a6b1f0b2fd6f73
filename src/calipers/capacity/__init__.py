"""How much of everything a server of rewards needs for a load: by formula, and by a simulation of its queues."""
