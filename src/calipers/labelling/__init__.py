"""People's rankings of candidates: a local page that asks for them, their agreement, and gold for calibration.

``GroupIndex`` reads groups when they are shown, ``LabelFile`` keeps every label, ``Session`` is one annotator at work,
and ``LabelServer`` serves the page. ``gold_lines`` makes gold of the labels of all annotators, ``agreement`` compares
them.
Not responsible for the command line (``cli``) or for what gold is used for (``calibration``).
"""
