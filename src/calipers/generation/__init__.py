"""Generates responses to a file of prompts: n samples each, stored as they arrive, written for the next step."""
