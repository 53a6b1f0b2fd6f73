"""People's rankings of candidates: a local page that asks for them, their agreement, and gold for calibration."""
