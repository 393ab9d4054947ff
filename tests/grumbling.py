"""A classifier with a warning of its own, in a module that other processes can import."""

import warnings

from sklearn.linear_model import LogisticRegression


class Grumbling(LogisticRegression):
    """Warns in every fit; only a number in the message differs."""

    def fit(self, X, y, sample_weight=None):
        warnings.warn(f"{len(y)} rows", FutureWarning, stacklevel=1)
        return super().fit(X, y, sample_weight)
