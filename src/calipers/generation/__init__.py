"""Responses to a file of prompts: read, sampled n times, kept as they come, written in the form that is needed next.

``prompts`` reads, ``sampling`` asks, ``kept`` remembers, ``forms`` writes; ``models`` finds who is asked, ``engine`` is vLLM in this process,
``merging`` makes a model of an FSDP checkpoint. Not responsible for judging what comes back.
"""
