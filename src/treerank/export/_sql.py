"""SQL that scores the rows of a table: dialects, and one query for each kind of model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treerank._input.parameters import check_choice, invalid_parameter
from treerank._input.warn import warn
from treerank.export._sql_forest import deep_tree_query, forest_query
from treerank.export._sql_scorecard import card_names
from treerank.export._sql_tree import nesting, tree_query
from treerank.export._sql_words import DIALECTS, Aliases, check_names, check_returned
from treerank.export._walks import MANY_TREES, check_exportable, walks_of
from treerank.scoring._scorecard import unwrap

# Longer queries take databases long to parse, and exceed the limits of some tools.
LONG_QUERY = 5_000_000


def to_sql(
    model: Any, table: str, dialect: str = "postgresql", *, columns: Sequence[str] | None = None
) -> str:
    """Write a query that scores the rows of a table in a database.

    A tree becomes a CASE expression that finds the stratum, joined to a short table of the
    strata. A forest becomes a table of its tests, packed into text of about six bytes per test,
    and a recursive query in which all rows walk down the trees at once. The same holds for boosted
    trees, and for trees that are too deep for nested CASE expressions. A query of more than 5 MB
    causes a warning. Scores are equal to those of `score_samples`. For forests, they are bitwise
    equal in PostgreSQL and DuckDB, and within 1e-6 in SQLite, which has no single precision.

    NULL, NaN and unknown levels are missing values, as in Python.

    Parameters
    ----------
    model : TreeRank, LeafRank, RankingForest or BoostedTreeRank
        Fitted, alone or in a :class:`treerank.scoring.Scorecard`, with LeafRank as the splitter.
        A forest must have ``aggregation="posterior"`` or ``"mean_rank"``.
    table : str
        Name of the table or view; its columns must have the names that the model was fitted to.
        ``schema.table`` means a table in a schema.
    dialect : {"postgresql", "duckdb", "sqlite"}, default="postgresql"
    columns : sequence of str, optional
        Columns of the table to return with the score. By default all, for a tree. They are
        required for a forest, and for a deep tree (more than 12 nested CASE expressions in
        SQLite, 500 in DuckDB, 1,000 in PostgreSQL).

    Returns
    -------
    str
        One SELECT statement, without a semicolon. It returns `score`; for a tree, `stratum`; and
        `probability` for the last of two classes, or `probability_<class>` for each of several
        classes, except for a forest with ``aggregation="mean_rank"``. A scorecard adds `grade` and
        `points`. With its calibration, the probabilities of a tree are the calibrated ones, and
        those of a forest are omitted. These columns come after those of the table. If all columns
        of the table are returned and one has the same name, both are in the result.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from treerank import LeafRank, TreeRank
    >>> from treerank.export import to_sql
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = TreeRank(LeafRank(), max_depth=1).fit(X, y)
    >>> print(to_sql(model, "cases", "sqlite", columns=["id"]))
    WITH strata(stratum, score, probability) AS (
      VALUES
        (0, 0.4263400974652152, 0.9263400974652152),
        (1, -0.3329791679709786, 0.1670208320290214)
    )
    SELECT source."id", strata.stratum, strata.score, strata.probability
    FROM "cases" AS source
    JOIN strata ON strata.stratum =
      CASE WHEN CAST(source."worst perimeter" AS REAL) > 105.95
        THEN 1
        ELSE 0
      END
    """
    model, card = unwrap(model)
    check_exportable(model)
    check_choice("dialect", dialect, list(DIALECTS))
    if not isinstance(table, str):
        raise invalid_parameter("table", table, "the name of a table or view")
    words = DIALECTS[dialect]
    walks = walks_of(model)
    check_names(walks, words)
    if columns is not None:
        columns = check_returned(columns, model.label_order_, words, card_names(card))
    kept = None if columns is None else [words.name(column) for column in columns]
    alias = Aliases(words, table, [*walks.names, *(columns or [])])
    if isinstance(model, MANY_TREES):
        if not kept:
            raise ValueError(
                f"Got columns={columns!r}; expected the columns to return with the score, such "
                "as the key: the query of many trees numbers the rows, and cannot return all "
                "columns as they are."
            )
        query = forest_query(model, walks, words.table(table), words, alias, kept, card)
        return _warn_if_long(query)
    depth = nesting(model.tree_)
    if depth <= words.max_nesting:
        return tree_query(model, walks, words.table(table), words, alias, kept, card)
    if not kept:
        raise ValueError(
            f"Got columns={columns!r} for a tree of {depth} CASE expressions inside one another; "
            f"expected the columns to return with the score, such as the key: in {dialect} a "
            f"tree of more than {words.max_nesting} becomes a query that numbers the rows. Or fit "
            "with a smaller max_depth."
        )
    query = deep_tree_query(model, walks, words.table(table), words, alias, kept, card)
    return _warn_if_long(query)


def _warn_if_long(query: str) -> str:
    if len(query) > LONG_QUERY:
        warn(
            f"The query has {len(query) / 1e6:.1f} MB, which databases take seconds to read. Fit "
            "fewer trees (n_estimators), a BoostedTreeRank, or score with to_onnx or the command "
            "treerank score.",
        )
    return query
