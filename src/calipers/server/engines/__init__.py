"""Training engines' own requests for rewards, as routes of the server: OpenRLHF, NeMo-Gym, slime and miles."""
