"""Store grades, points and calibration together with a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._input.label_order import label_order_of
from treerank._io.model_file._nodes import Node
from treerank._io.model_file._values import pack_parameters, unpack_parameters
from treerank.scoring._calibrator import Calibrator
from treerank.scoring._grades import Grades
from treerank.scoring._points import Points
from treerank.scoring._scorecard import Scorecard

SCALE = ("pdo", "base_score", "base_odds", "reverse")
NUMBERS = ("rate", "edge", "shift")


def pack_scorecard(card: Scorecard) -> dict[str, Any]:
    """Return everything that the fit of a scorecard has set, except the model."""
    points = None
    if card.points is not None:
        points = {name: getattr(card.points, name) for name in SCALE} | {
            "cuts": card.point_cuts_,
            "values": card.point_values_,
        }
    return {
        "held_out": card.held_out_,
        "grades": None if card.grades_ is None else _pack_grades(card.grades_),
        "calibration": None if card.calibrator_ is None else _pack_calibrator(card.calibrator_),
        "points": points,
    }


def unpack_scorecard(node: Node, model: Any) -> Scorecard:
    """Return the scorecard of a model that has already been read."""
    fields = node.fields("held_out", "grades", "calibration", "points")
    present = {name: field for name, field in fields.items() if not field.is_null}
    n_classes = len(model.classes_)
    if n_classes > 2 and ("calibration" in present or "points" in present):
        raise node.error("points and calibration of two classes only")
    if "points" in present and "calibration" not in present:
        raise node.error("a calibration where there are points")
    grades = _unpack_grades(present["grades"], model) if "grades" in present else None
    calibrator = None
    if "calibration" in present:
        calibrator = _unpack_calibrator(present["calibration"])
    card = Scorecard(
        model,
        grades=grades,
        calibration=None if calibrator is None else calibrator.method,
        population_rate=None if calibrator is None else calibrator.population_rate,
        cv="prefit",
    )
    card.estimator_, card.label_order_ = model, label_order_of(model)
    card.held_out_ = fields["held_out"].text()
    card.grades_, card.calibrator_ = grades, calibrator
    if "points" in present:
        card.points, card.point_cuts_, card.point_values_ = _unpack_points(present["points"])
    return card


def _pack_grades(grades: Grades) -> dict[str, Any]:
    return {
        "parameters": pack_parameters(grades),
        "cuts": grades.cuts_,
        "names": grades.names_,
        "counts": grades.counts_,
        "rows_per_weight": grades._rows_per_weight,
    }


def _unpack_grades(node: Node, model: Any) -> Grades:
    fields = node.fields("parameters", "cuts", "names", "counts", "rows_per_weight")
    grades = Grades(**unpack_parameters(fields["parameters"], Grades))
    if type(grades.reverse) is not bool:
        raise fields["parameters"].error("reverse to be true or false")
    grades.label_order_ = label_order_of(model)
    grades.cuts_ = _rising(fields["cuts"])
    n_grades = len(grades.cuts_) + 1
    grades.names_ = [item.text() for item in fields["names"].items()]
    if len(grades.names_) != n_grades or len(set(grades.names_)) != n_grades:
        raise fields["names"].error(f"{n_grades} names, all different")
    shape = (n_grades, len(grades.label_order_))
    grades.counts_ = fields["counts"].array("<f8", shape, low=0.0)
    grades._rows_per_weight = fields["rows_per_weight"].number(0.0)
    return grades


def _rising(node: Node) -> NDArray[np.float64]:
    cuts = node.array("<f8", (None,))
    if not (np.diff(cuts) > 0).all():
        raise node.error("numbers that rise")
    return cuts


def _unpack_points(node: Node) -> tuple[Points, NDArray[np.float64], NDArray[np.int64]]:
    fields = node.fields(*SCALE, "cuts", "values")
    numbers = {name: fields[name].number() for name in SCALE[:3]}
    scale = Points(**numbers, reverse=fields["reverse"].flag())
    cuts = _rising(fields["cuts"])
    values = fields["values"].array("<i8", (len(cuts) + 1,), low=-(2**53), high=2**53)
    if not (np.sign(np.diff(values)) == (-1 if scale.reverse else 1)).all():
        raise fields["values"].error("points in the order of the score")
    return scale, cuts, values


def _pack_calibrator(calibrator: Calibrator) -> dict[str, Any]:
    packed = {"parameters": pack_parameters(calibrator)}
    packed |= {name: getattr(calibrator, f"{name}_") for name in NUMBERS}
    if calibrator.method == "isotonic":
        return packed | {"knots": calibrator.knots_}
    return packed | {"line": calibrator.line_, "coefficients": calibrator.coefficients_}


def _unpack_calibrator(node: Node) -> Calibrator:
    parameters = node.entries().get("parameters")
    if parameters is None:
        raise node.error("the parameters of a Calibrator")
    calibrator = Calibrator(**unpack_parameters(parameters, Calibrator))
    calibrator.check_parameters()
    curve = ("knots",) if calibrator.method == "isotonic" else ("line", "coefficients")
    fields = node.fields("parameters", *NUMBERS, *curve)
    calibrator.rate_ = fields["rate"].number(0.0, 1.0)
    calibrator.edge_ = fields["edge"].number(0.0, 0.5)
    calibrator.shift_ = fields["shift"].number()
    if calibrator.method == "isotonic":
        calibrator.knots_ = fields["knots"].array("<f8", (2, None))
        if calibrator.knots_.shape[1] < 1 or not (np.diff(calibrator.knots_) > 0).all():
            raise fields["knots"].error("a curve that rises")
        return calibrator
    calibrator.line_ = fields["line"].array("<f8", (2,))
    calibrator.coefficients_ = fields["coefficients"].array("<f8", (3,))
    if calibrator.line_[0] <= 0 or (calibrator.coefficients_[:2] <= 0).any():
        raise fields["coefficients"].error("slopes above 0")
    return calibrator
