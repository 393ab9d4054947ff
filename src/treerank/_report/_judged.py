"""What a page is about, and what the caller wants of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from treerank._report._sample import ScoredRows
from treerank.scoring._held_out import HeldOut
from treerank.scoring._validation import Validation


@dataclass(frozen=True)
class Judged:
    """What a page is about.

    Attributes
    ----------
    sample : ScoredRows
        Rows with the scores that the figures come from.
    described : ScoredRows
        The same rows with the scores of the model itself, to explain it by.
    training : ScoredRows or None
        Training rows to compare with, where they are not the evaluation rows.
    held_out : HeldOut or None
        How training rows have got scores of models that did not see them.
    """

    sample: ScoredRows
    described: ScoredRows
    training: ScoredRows | None
    held_out: HeldOut | None

    @property
    def n_given(self) -> int:
        """Number of rows of the table as it was given, those without weight too."""
        return self.described.n_given


@dataclass(frozen=True)
class PageOptions:
    """What the caller wants of the page."""

    out: Any = None
    X_new: Any = None
    ids: Any = None
    groups: ArrayLike | None = None
    segments: bool = False
    champion: Any = None
    appendix: Any = False
    title: str | None = None
    rows: Any = 6
    level: float = 0.95
    seed: int = 0
    validation: Validation | None = None
