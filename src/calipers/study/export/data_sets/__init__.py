"""The study's data sets: from the files that their authors publish to rows of verl's.

``catalogue.toml`` lists them. Not responsible for downloads, which ``prepare.sh`` of an exported study does.
"""

from calipers.study.export.data_sets.catalogue import DataSet, data_sets, find_data_set
from calipers.study.export.data_sets.preparation import Prepared, prepare_data_set

__all__ = ["DataSet", "Prepared", "data_sets", "find_data_set", "prepare_data_set"]
