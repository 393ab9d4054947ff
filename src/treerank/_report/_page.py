"""The function report: one HTML file on how well a model ranks, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from treerank._input.label_order import label_order_of
from treerank._input.parameters import check_integer, invalid_parameter
from treerank._input.types import FittedClassifier, TableLike
from treerank._report._appendix import SIGNATURES, to_markdown
from treerank._report._appendix import appendix as build_appendix
from treerank._report._by_cut import cuts_between_classes
from treerank._report._calibration import calibration, gains
from treerank._report._cells import CellView, cell_rows, view_cells
from treerank._report._dependence import dependence_pictures
from treerank._report._drawn_tree import draw_tree
from treerank._report._facts import facts
from treerank._report._grades import grades
from treerank._report._groups import sections_of_parts
from treerank._report._histogram import score_histogram, shade
from treerank._report._importance import importances
from treerank._report._judged import Judged, PageOptions
from treerank._report._lookup import check_ids, lookup
from treerank._report._ordinal import (
    class_picture,
    class_weights_of_sample,
    ordinal_summary,
    surface_picture,
)
from treerank._report._reasons import choose_rows, reasons
from treerank._report._render import check_out, check_page, render, require_jinja2, write
from treerank._report._roc import cuts_of_cells, cuts_of_sample, roc_picture, roc_summary
from treerank._report._sample import ScoredRows, hold_out, read_sample, with_target
from treerank._report._stability import stability_parts
from treerank._report._strata import strata, tree_data
from treerank._report._summary import summary_sentences
from treerank._report._table import table_names
from treerank._report._top import top_of_list
from treerank._report._validation import validation_part
from treerank._trees.ranking_tree import RankTree
from treerank.metrics._input import check_level
from treerank.scoring._scorecard import unwrap
from treerank.scoring._validation import Validation


def report(
    model: FittedClassifier,
    X: TableLike | None = None,
    y: ArrayLike | None = None,
    *,
    out: Any = "report.html",
    train: Any = None,
    cv: Any = 5,
    X_new: Any = None,
    ids: Any = None,
    groups: ArrayLike | None = None,
    segments: bool = False,
    champion: Any = None,
    appendix: Any = False,
    sample_weight: ArrayLike | None = None,
    title: str | None = None,
    target: str | None = None,
    rows: Any = 6,
    level: float = 0.95,
    random_state: int = 0,
    validation: Validation | None = None,
) -> Path | str:
    """Write one HTML file that a committee can read: how well a model ranks, and why.

    The file is self-contained: it loads nothing, and runs only its own small script. It starts
    with a summary generated from its numbers and ends with lines for signatures. It shows the ROC
    curve with a simultaneous band and a movable cut-off; a histogram of the scores; permutation
    importance with intervals, partial dependence, the top of the list, gains, calibration,
    stability, reasons for single rows, and rows to look up. For a ranking tree, it also shows the
    strata with their rules, a picture of the tree, the tree to unfold, and a slider that prunes
    it live; for three or more classes, concordance, VUS, mean grades, class distributions, gains
    and calibration by cut, and the ROC surface. Names and values of the data are always shown as
    text, whatever they contain.

    A model looks too good on the rows that it was trained on. If only `train` is given, and no new
    rows, every figure comes from held-out rows: the same kind of model is fitted again without
    each of `cv` folds, and a forest scores each row by the trees that were grown without it. The
    AUC on the training rows is shown next to it, in smaller type.

    Parameters
    ----------
    model : fitted estimator
        An estimator of this library, alone or in a :class:`treerank.scoring.Scorecard`, or any
        classifier with scores for two classes.
    X : array-like or data frame of shape (n_samples, n_features), optional
        Rows to evaluate the model on, to which it was not fitted. If None, it is evaluated on
        held-out folds of `train`.
    y : array-like of shape (n_samples,), optional
        Labels of the rows; every class of the model must occur.
    out : path or None, default="report.html"
        File to write. If None, the text is returned.
    train : tuple (X, y) or (X, y, sample_weight), optional
        The training rows, for their curve and the stability of scores and features; without
        `X`, for the held-out figures. The training counts of a ranking tree are known without
        them.
    cv : int or cross-validation splitter, default=5
        Folds to use without `X`. A forest that was fitted with ``oob_score=True`` or that has at
        least 50 trees needs none.
    X_new : array-like or data frame, optional
        Rows without labels, such as those of a later month, to show what has changed since the
        evaluation rows.
    ids : array-like of shape (n_samples,), optional
        A name or number for each evaluation row, by which it can be looked up in the page. By
        default, rows are looked up by their position.
    groups : str or array-like of shape (n_samples,), optional
        Group of each evaluation row, or the name of a column with the groups. Adds AUC, rates and
        curves by group, and AUCs across groups. Two classes only.
    segments : bool, default=False
        Search for segments in which the model ranks worse than it should, on half of the
        evaluation rows, and check them on the other half. Two classes only.
    champion : fitted estimator or tuple (estimator, X), optional
        Model in use that this one may replace, with its own table of the rows if it has other
        columns. Adds paired AUCs, swap sets and net benefit on the evaluation rows, to which
        neither model may have been fitted. Two classes only.
    appendix : bool or path, default=False
        Add the items that TRIPOD+AI and the guidance on model risk require, filled in as far as
        they are known, with blank lines for the rest. If it is a path, they are written there as
        Markdown, too.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the evaluation rows.
    title : str, optional
    target : str, optional
        Name of the labels; a class is then called ``default = 1`` instead of ``1``. By default, the
        name of `y`, if it is a Series that has one.
    rows : int or array-like of int, default=6
        Number of rows to explain, spread over the ranking, or the positions of rows. With 0, the
        file contains no rows, and none can be looked up. Otherwise, it contains up to 300 rows
        besides those explained.
    level : float, default=0.95
        Confidence level of all limits and of the band.
    random_state : int, default=0
        Seed of the folds, of the shuffles, of the search for segments, and of the rows over which
        partial dependence is averaged for models other than trees.
    validation : Validation, optional
        Result of :func:`treerank.scoring.validate`: optimism and instability.

    Returns
    -------
    path or str
        The path written, or the text if `out` is None.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from treerank import TreeRank, report
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = TreeRank().fit(X_train, y_train)
    >>> text = report(model, X_test, y_test, out=None)
    >>> text.startswith("<!DOCTYPE html>")
    True
    """
    seed = check_integer("random_state", random_state, 0)
    wanted = PageOptions(
        out, X_new, ids, groups, segments, champion, appendix, title, rows, check_level(level),
        seed, validation,
    )  # fmt: skip
    require_jinja2()
    check_page(out)
    training = _read_training(model, train, target)
    if X is not None:
        sample = read_sample(model, X, y, sample_weight, target=target)
        return write_page(model, Judged(sample, sample, training, None), wanted)
    if training is None or y is not None or sample_weight is not None:
        raise ValueError(
            "Got no X to evaluate the model on; expected rows X with labels y, or the training "
            "rows alone, train=(X, y), to evaluate it on held-out folds."
        )
    sample, held_out = hold_out(model, training, cv, seed)
    return write_page(model, Judged(sample, training, None, held_out), wanted)


def write_page(model: Any, judged: Judged, wanted: PageOptions) -> Path | str:
    """Build a page; write it, or return its text."""
    path = check_page(wanted.out)
    beside = None if isinstance(wanted.appendix, bool) else check_out(wanted.appendix, "appendix")
    model, card = unwrap(model)
    described = judged.described
    chosen = choose_rows(wanted.rows, described)
    name = f"{type(model).__name__} report" if wanted.title is None else str(wanted.title)
    context: dict[str, Any] = {
        "title": name,
        "level": wanted.level,
        "facts": facts(model, judged.sample, judged.training),
        "judged_on": "rows" if judged.held_out is None else judged.held_out.said,
        "is_held_out": judged.held_out is not None,
        "reasons": reasons(model, described, chosen),
        "has_tests": isinstance(getattr(model, "tree_", None), RankTree),
        "stability": stability_parts(model, judged.sample, judged.training, wanted.X_new),
        "grades": grades(model, card, judged.sample, wanted.level),
        "validation": validation_part(wanted.validation, wanted.level),
    }
    context |= _features(model, judged, wanted) | sections_of_parts(model, judged, wanted)
    ranking, data = _ranking(model, judged, wanted.level)
    context |= ranking
    context["sentences"] = summary_sentences(context)
    ids = check_ids(wanted.ids, judged.n_given)
    context["lookup"] = data["lookup"] = lookup(model, described, ids, chosen, context["reasons"])
    context["appendix"] = None
    if wanted.appendix is not False:
        context["appendix"] = build_appendix(context, model, judged.sample)
    context["signatures"] = SIGNATURES
    text = render(context, data)
    if beside is not None:
        write(to_markdown(name, context["appendix"], context["facts"]["made"]), beside)
    if path is None:
        return text
    write(text, path)
    return path


def _read_training(model: FittedClassifier, train: Any, target: str | None) -> ScoredRows | None:
    if train is None:
        return None
    if not isinstance(train, tuple | list) or len(train) not in (2, 3):
        raise invalid_parameter(
            "train", type(train).__name__, "a tuple (X, y) or (X, y, sample_weight)"
        )
    weight = train[2] if len(train) == 3 else None
    return read_sample(model, train[0], train[1], weight, "y of train", target)


def _features(model: FittedClassifier, judged: Judged, wanted: PageOptions) -> dict[str, Any]:
    described = judged.described
    importance = importances(model, judged, wanted.level, wanted.seed)
    return {
        "importance": importance,
        "dependence": dependence_pictures(model, described, importance["drawn"], wanted.seed),
        "dependence_sampled": not isinstance(getattr(model, "tree_", None), RankTree),
        "response": "probability of the class ranked on top"
        if described.probability is not None and len(model.classes_) == 2
        else "score",
    }


def _ranking(model: Any, judged: Judged, level: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Curve, cut-offs, strata and tree: the context of the page and the data of its script."""
    sample, training = judged.sample, judged.training
    if judged.held_out is not None:
        training = judged.described
    label_order = label_order_of(model)
    classes = [str(label) for label in label_order]
    two_classes = len(classes) == 2
    view = view_cells(model, sample, level, judged.held_out is not None)
    context: dict[str, Any] = {
        "two_classes": two_classes,
        "quality": "AUC" if two_classes else "VUS",
        "event": with_target(sample.target, classes[-1]),
        "non_event": with_target(sample.target, classes[0]),
        "view": view,
        "is_training": judged.held_out is None and _are_training_rows(view),
        "training_auc": _training_quality(training, view, two_classes, level, model),
        "top": top_of_list(model, sample, level) if two_classes else None,
        "gains": gains(sample, level) if two_classes else None,
        "calibration": calibration(sample, level) if two_classes else None,
        "surface": surface_picture(sample, label_order),
        "histogram": score_histogram(
            sample, [with_target(sample.target, label) for label in classes]
        ),
        "shades": [shade(k, len(classes)) for k in range(len(classes))],
        "by_cut": None if two_classes else cuts_between_classes(sample, label_order, level),
        "drawn_tree": None if view is None else draw_tree(view, model),
    }
    context |= _curve(model, sample, training, view, level)
    data = {
        "classes": classes,
        "box": context["curve"].box,
        "cuts": context["cuts"].data() if two_classes else None,
        "tree": None if view is None else tree_data(view, label_order),
    }
    if view is not None:
        rows = cell_rows(view, model, table_names(sample.table, model))
        context |= strata(view, rows, label_order)
    return context, data


def _are_training_rows(view: CellView | None) -> bool:
    """Whether the counts of the evaluation rows equal those of the training rows in all cells."""
    return view is not None and np.array_equal(view.judged, view.tree.counts)


def _curve(
    model: FittedClassifier,
    sample: ScoredRows,
    training: ScoredRows | None,
    view: CellView | None,
    level: float,
) -> dict[str, Any]:
    n_classes = len(model.classes_)
    if n_classes > 2:
        weights = class_weights_of_sample(sample, n_classes)
        summary = ordinal_summary(sample, label_order_of(model), level)
        return {"summary": summary, "curve": class_picture(weights), "has_training": False}
    if view is None:
        cuts = cuts_of_sample(sample)
        before = None if training is None else cuts_of_sample(training)
    else:
        step = view.steps[view.chosen]
        cuts = cuts_of_cells(view.judged[step.leaves], step.scores)
        before = cuts_of_cells(view.tree.counts[step.leaves], step.scores)
    return {
        "summary": roc_summary(sample, level),
        "cuts": cuts,
        "cut": cuts.numbers(cuts.best),
        "curve": roc_picture(sample, cuts, before, level),
        "has_training": before is not None,
    }


def _training_quality(
    training: ScoredRows | None,
    view: CellView | None,
    two_classes: bool,
    level: float,
    model: FittedClassifier,
) -> float | None:
    if view is not None:
        return view.steps[view.chosen].training
    if training is None:
        return None
    if two_classes:
        return float(roc_summary(training, level)["auc"])
    return float(ordinal_summary(training, label_order_of(model), level)["vus"])
