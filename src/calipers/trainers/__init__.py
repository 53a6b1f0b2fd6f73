"""One module a trainer: calipers' rewards in the form that trainer takes, with its own idea of *no signal*."""
