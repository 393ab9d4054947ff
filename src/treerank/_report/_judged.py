"""The rows that a page evaluates, and the options of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from treerank._report._sample import ScoredRows
from treerank.scoring._held_out import HeldOut
from treerank.scoring._validation import Validation


@dataclass(frozen=True)
class Judged:
    """The rows that a page evaluates.

    Attributes
    ----------
    sample : ScoredRows
        Rows with the scores from which the figures are computed.
    described : ScoredRows
        The same rows with the scores of the model itself, which are explained.
    training : ScoredRows or None
        Training rows to compare with, if they are not the evaluation rows.
    held_out : HeldOut or None
        How training rows were scored by models that were fitted without them.
    """

    sample: ScoredRows
    described: ScoredRows
    training: ScoredRows | None
    held_out: HeldOut | None

    @property
    def n_given(self) -> int:
        """Number of rows of the table as passed, including those without weight."""
        return self.described.n_given


@dataclass(frozen=True)
class PageOptions:
    """Options of the page; see `report`."""

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
