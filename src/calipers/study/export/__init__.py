"""A study on a cluster: the scripts, settings and data with which verl trains what the study compares.

Everything that a person may want to read or change is a file: ``data_sets/catalogue.toml``, ``recipes/`` and
``templates/``. Needs neither verl nor a GPU.
"""
