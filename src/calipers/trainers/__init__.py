"""Adapters for training engines, one module each: calipers' rewards in the form that the engine accepts.

Each knows what its engine must get in place of a missing reward. All take ``patience`` and ``stop``, which are those of
``run.JudgedRun``, and raise ConfigError for invalid settings, an engine that is missing and a judge that
refuses every question, CalipersError when patience runs out. What the engine does with an error is in
``docs/trainers/``.
"""
