"""Check what a judge's reply says about its own verdict: that it is taken back, denied or quoted."""
