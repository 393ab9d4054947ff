"""A tree as text."""

import numpy as np

from treerank import LeafRank, TreeRank
from treerank.export import to_text


def test_text_has_the_labels_as_they_are():
    x = np.arange(100.0)
    labels = np.where(x < 40, "at most 50%", "over 50%")
    model = TreeRank(LeafRank(), max_depth=1, pruning=None, shrinkage=None).fit(x[:, None], labels)
    lines = to_text(model).splitlines()
    assert lines[0].endswith("classes at most 50% < over 50%.")
    assert lines[1].endswith("60 rows, 100.0% of class over 50%")
