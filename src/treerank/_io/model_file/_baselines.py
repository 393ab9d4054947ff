"""Store the estimators of `treerank.baselines` in model files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from treerank import baselines
from treerank._io.model_file._features import pack_names, unpack_names
from treerank._io.model_file._nodes import Node
from treerank._io.model_file._values import pack_classes, unpack_classes
from treerank.baselines._kernel_features import KernelScore, LinearScore
from treerank.baselines._ranknet import Network
from treerank.baselines._regression_tree import RegressionTree
from treerank.baselines._stumps import StumpSum


def _pack_scaler(scaler: Any) -> dict[str, Any]:
    return {
        "mean": scaler.mean_,
        "variance": scaler.var_,
        "scale": scaler.scale_,
        "rows": float(np.max(scaler.n_samples_seen_)),
    }


def _unpack_scaler(node: Node, n: int) -> StandardScaler:
    fields = node.fields("mean", "variance", "scale", "rows")
    scaler = StandardScaler()
    scaler.mean_ = fields["mean"].array("<f8", (n,))
    scaler.var_ = fields["variance"].array("<f8", (n,), low=0.0)
    scaler.scale_ = fields["scale"].array("<f8", (n,), low=0.0)
    if not scaler.scale_.all():
        raise fields["scale"].error("scales above 0")
    scaler.n_samples_seen_ = fields["rows"].number(low=0.0)
    scaler.n_features_in_ = n
    return scaler


def _pack_rule(rule: Any) -> dict[str, Any]:
    if isinstance(rule, LinearScore):
        return {"linear": {"coef": np.asarray(rule.coef)}}
    kernel = {"basis": rule.basis, "dual_coef": rule.dual_coef, "gamma": float(rule.gamma)}
    return {"kernel": kernel}


def _unpack_rule(node: Node, n: int) -> LinearScore | KernelScore:
    entries = node.entries()
    if set(entries) == {"linear"}:
        return LinearScore(entries["linear"].fields("coef")["coef"].array("<f8", (n,)))
    fields = node.fields("kernel")["kernel"].fields("basis", "dual_coef", "gamma")
    basis = fields["basis"].array("<f8", (None, n))
    if len(basis) < 1:
        raise fields["basis"].error("one row or more")
    dual = fields["dual_coef"].array("<f8", (len(basis),))
    return KernelScore(basis, dual, fields["gamma"].number(low=0.0))


def _pack_stumps(stumps: StumpSum) -> dict[str, Any]:
    return {
        "feature": stumps.feature.astype("<i8"),
        "threshold": stumps.threshold,
        "step": stumps.step,
    }


def _unpack_stumps(node: Node, n: int) -> StumpSum:
    fields = node.fields("feature", "threshold", "step")
    feature = fields["feature"].array("<i8", (None,), low=0, high=n - 1)
    threshold = fields["threshold"].array("<f8", feature.shape)
    return StumpSum(feature.astype(np.intp), threshold, fields["step"].array("<f8", feature.shape))


def _pack_network(network: Network) -> dict[str, Any]:
    return {"hidden": network.hidden, "bias": network.bias, "output": network.output}


def _unpack_network(node: Node, n: int) -> Network:
    fields = node.fields("hidden", "bias", "output")
    hidden = fields["hidden"].array("<f8", (n, None))
    units = (hidden.shape[1],)
    return Network(hidden, fields["bias"].array("<f8", units), fields["output"].array("<f8", units))


TREE = {"feature": "<i8", "threshold": "<f8", "left": "<i8", "right": "<i8", "value": "<f8"}


def _pack_trees(trees: list[RegressionTree]) -> dict[str, Any]:
    columns = {n: np.concatenate([getattr(t, n) for t in trees]).astype(d) for n, d in TREE.items()}
    sizes = np.array([len(tree.value) for tree in trees], dtype="<i8")
    return {"sizes": sizes, "depth": np.array([t.depth for t in trees], dtype="<i8"), **columns}


def _unpack_trees(node: Node, n: int) -> list[RegressionTree]:
    fields = node.fields("sizes", "depth", *TREE)
    sizes = fields["sizes"].array("<i8", (None,), low=1, high=2**40)
    total = sum(sizes.tolist())
    columns = {name: fields[name].array(dtype, (total,)) for name, dtype in TREE.items()}
    # Walks take as many steps as the depth says, so a huge depth would make them very slow.
    depth = fields["depth"].array("<i8", sizes.shape, low=0)
    if (depth >= sizes).any():
        raise fields["depth"].error("depths below the numbers of nodes")
    starts = np.cumsum(sizes) - sizes
    size_of = np.repeat(sizes, sizes)
    if total and (columns["feature"].min() < 0 or columns["feature"].max() >= n):
        raise fields["feature"].error(f"features below {n}")
    own = np.arange(total) - np.repeat(starts, sizes)
    for side in ("left", "right"):
        if (columns[side] < own).any() or (columns[side] >= size_of).any():
            raise fields[side].error("children that come after their parents")
    trees = []
    for start, size, deep in zip(starts.tolist(), sizes.tolist(), depth.tolist(), strict=True):
        part = {name: np.ascontiguousarray(c[start : start + size]) for name, c in columns.items()}
        trees.append(RegressionTree(**part, depth=deep))
    return trees


# Packs and unpacks a part of an estimator, which is checked against the number of features.
Part = tuple[Callable[[Any], Any], Callable[[Node, int], Any]]
SCALER: Part = (_pack_scaler, _unpack_scaler)
RULE: Part = (_pack_rule, _unpack_rule)
STUMPS: Part = (_pack_stumps, _unpack_stumps)
FLOAT: Part = (float, lambda node, n: node.number())
INTEGER: Part = (int, lambda node, n: node.integer(0, 2**62))
FLOATS: Part = (np.asarray, lambda node, n: node.array("<f8", (None,), finite=False))
KERNEL = {"scaler": SCALER, "scoring_rule": RULE}

BASELINES: dict[str, type[Any]] = {name: getattr(baselines, name) for name in baselines.__all__}
PARTS: dict[str, dict[str, Part]] = {
    "RankBoost": {"stumps": STUMPS},
    "PNormPush": {"stumps": STUMPS},
    "RankSVM": {**KERNEL, "loss": FLOAT, "n_iter": INTEGER},
    "RankRLS": {**KERNEL, "alpha": FLOAT, "loo_errors": FLOATS, "loo_scores": FLOATS},
    "KernelLogisticRegression": {**KERNEL, "intercept": FLOAT, "n_iter": INTEGER},
    "LogitBoost": {"estimators": (_pack_trees, _unpack_trees)},
    "RankNet": {
        "scaler": SCALER,
        "network": (_pack_network, _unpack_network),
        "loss": FLOAT,
        "n_iter": INTEGER,
    },
}


def pack_baseline(model: Any) -> dict[str, Any]:
    """Return everything that `fit` has set."""
    parts = PARTS[type(model).__name__]
    return {
        "features": pack_names(model),
        "classes": pack_classes(model.classes_),
        "offset": model.offset_,
        "cut_offs": model.cut_offs_,
        **{name: pack(getattr(model, f"{name}_")) for name, (pack, _) in parts.items()},
    }


def unpack_baseline(node: Node, model: Any) -> None:
    """Restore the attributes that `fit` had set."""
    parts = PARTS[type(model).__name__]
    fields = node.fields("features", "classes", "offset", "cut_offs", *parts)
    n_features = len(unpack_names(fields["features"], model))
    model.classes_ = unpack_classes(fields["classes"])
    model.offset_ = fields["offset"].number()
    model.cut_offs_ = fields["cut_offs"].array("<f8", (len(model.classes_) - 1,))
    if (np.diff(model.cut_offs_) < 0).any():
        raise fields["cut_offs"].error("cut-offs that ascend")
    model._check_parameters()  # some of them affect the score
    for name, (_, unpack) in parts.items():
        setattr(model, f"{name}_", unpack(fields[name], n_features))
