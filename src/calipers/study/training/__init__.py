"""GRPO under a judge: one loop over the real judging pipeline, for two policies.

The GPT is a tiny transformer, pre-trained on the spot and trained with real GRPO; the closed form has seven numbers,
and exact gradients and expectations. A TOML file describes arms (judges, ways to ask them, settings), which are trained
with the same seeds and compared run by run. Importing this package imports nothing heavy.
"""
