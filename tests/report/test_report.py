"""The page as a whole: hostile names, every kind of model, the file, refusals."""

import re

import numpy as np
import pandas as pd
import pytest
from report_data import NASTY, grades
from report_page import read
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from treerank import (
    BoostedTreeRank,
    GeometricRanker,
    LeafRank,
    RankingForest,
    TreeRank,
    _core,
    report,
)
from treerank._report._ordinal import class_weights_of_sample
from treerank._report._sample import read_sample
from treerank.baselines import RankBoost
from treerank.splitters import DyadicGrid


def test_page_needs_nothing_from_elsewhere(tree, data):
    text, page, _ = read(tree, *data[2:])
    for tag, attrs in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert "src" not in attrs
        assert attrs.get("href", "#").startswith("#")
        assert not any(name.startswith("on") or name == "style" for name in attrs)
    style = text[text.index("<style>") : text.index("</style>")]
    assert not re.search(r"url\(|@import", style)
    policy = next(a["content"] for t, a in page.tags if "Security" in a.get("http-equiv", ""))
    assert policy.startswith("default-src 'none'")


def test_hostile_names_are_shown_and_not_run(tree, data):
    text, page, _ = read(tree, *data[2:], title=f"Title {NASTY}")
    scripts = [attrs for tag, attrs in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert "b" not in {tag for tag, _ in page.tags}
    words = "".join(page.words)
    assert NASTY in words
    assert "<b>boat</b>" in words
    assert f"Title {NASTY}" in words
    assert "<script>alert" not in text


def test_hostile_labels_cannot_close_the_data(data):
    y = np.where(data[1] == 1, "</script><!--", "<!--<script>")
    model = TreeRank(max_depth=2).fit(data[0], y)
    _, page, found = read(model, data[0], y)
    assert found["classes"] == ["</script><!--", "<!--<script>"][::-1]
    assert [tag for tag, _ in page.tags].count("script") == 2


def test_shown_auc_is_that_of_the_model(tree, forest, data):
    for model in (tree, forest):
        _, page, _ = read(model, *data[2:])
        assert page.by_id["auc"] == f"{model.score(*data[2:]):.4f}"


def test_classes_may_be_in_an_order_of_their_own():
    x, y = grades()
    words = np.array(["mild", "grave", "fatal"])[y]
    model = TreeRank(max_depth=3, label_order=["mild", "grave", "fatal"]).fit(x, words)
    assert read_sample(model, x, words, None).code.tolist() == y.tolist()
    _, page, found = read(model, x, words)
    assert found["classes"] == ["mild", "grave", "fatal"]
    assert page.by_id["auc"] == f"{model.score(x, words):.4f}"


@pytest.mark.parametrize("n_classes", [3, 4])
def test_ordered_classes_have_their_distributions(n_classes):
    x, y = grades(n_classes=n_classes)
    model = TreeRank(max_depth=4).fit(x[:225], y[:225])
    text, page, found = read(model, x[225:], y[225:])
    assert page.by_id["auc"] == f"{model.score(x[225:], y[225:]):.4f}"
    assert ('id="surface"' in text) == (n_classes == 3)
    assert found["cuts"] is None
    chosen = found["tree"]["steps"][found["tree"]["chosen"]]
    assert chosen["judged"] == pytest.approx(model.score(x[225:], y[225:]))
    weights = class_weights_of_sample(read_sample(model, x[225:], y[225:], None), n_classes)
    assert weights.sum(axis=0).tolist() == np.bincount(y[225:]).tolist()


@pytest.mark.parametrize(
    "model",
    [
        TreeRank(pruning=None, max_depth=3),
        TreeRank(pruning="penalty"),
        TreeRank(shrinkage=None, max_depth=3),
        TreeRank(monotonic_cst={"noise": 1}, max_depth=3),
        TreeRank(DyadicGrid(), max_depth=3),
        TreeRank(LogisticRegression(), max_depth=2),
        TreeRank(min_samples_leaf=0.9),
        LeafRank(),
        RankingForest(n_estimators=5, aggregation="mean_rank"),
        RankingForest(n_estimators=5, oob_score=True),
        GeometricRanker(DecisionTreeClassifier(max_depth=3)),
        LogisticRegression(),
        RandomForestClassifier(n_estimators=5, random_state=0),
        RankBoost(n_estimators=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_model_that_ranks_has_a_report(model, data):
    columns = ["noise", NASTY]
    x, x_new, y, y_new = data[0][columns], data[2][columns], data[1], data[3]
    model.fit(x, y)
    _, page, _ = read(model, x_new, y_new, train=(x, y))
    score = model.score_samples if hasattr(model, "score_samples") else None
    if score is None:
        score = getattr(model, "decision_function", lambda x: model.predict_proba(x)[:, 1])
    assert page.by_id["auc"] == f"{roc_auc_score(y_new, score(x_new)):.4f}"


@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_columns_without_a_known_value_are_passed_over(kind, data, request):
    x = data[2].assign(income=np.nan)
    _, page, _ = read(request.getfixturevalue(kind), x, data[3], train=data[:2], X_new=x)
    drawn = [attrs["aria-label"] for tag, attrs in page.tags if tag == "svg" and "role" in attrs]
    assert not any(label.endswith("on income") for label in drawn)
    assert any(label.endswith(f"on {NASTY}") for label in drawn)


def test_a_perfect_model_has_a_report():
    x = np.arange(60.0)[:, np.newaxis]
    model = TreeRank().fit(x, x[:, 0] > 30)
    _, page, _ = read(model, x, x[:, 0] > 30)
    assert page.by_id["auc"] == "1.0000"


def test_the_file_is_written_as_a_whole(tree, data, tmp_path, monkeypatch):
    out = tmp_path / "sub" / "report.html"
    with pytest.raises(FileNotFoundError, match="a folder that is there"):
        report(tree, *data[2:], out=out)
    with pytest.raises(IsADirectoryError, match="path of a file"):
        report(tree, *data[2:], out=tmp_path)
    out = tmp_path / "report.html"
    assert report(tree, *data[2:], out=out) == out
    before = out.read_text(encoding="utf-8")
    assert before.startswith("<!DOCTYPE html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        report(tree, *data[2:], out=out)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert out.read_text(encoding="utf-8") == before


def test_bad_input_is_named(tree, data, tmp_path):
    x, y = data[2:]
    out = tmp_path / "report.html"
    with pytest.raises(NotFittedError):
        report(TreeRank(), x, y, out=out)
    with pytest.raises(ValueError, match=r"rows of \[0\] only; expected some of every class"):
        report(tree, x[y == 0], y[y == 0], out=out)
    with pytest.raises(ValueError, match="Got the label 7"):
        report(tree, x, y.where(y == 0, 7), out=out)
    with pytest.raises(ValueError, match="Got 299 labels in y for 300 rows"):
        report(tree, x, y.iloc[1:], out=out)
    with pytest.raises(ValueError, match="Got train='DataFrame'"):
        report(tree, x, y, train=x, out=out)
    with pytest.raises(ValueError, match="Got rows=-1"):
        report(tree, x, y, rows=-1, out=out)
    with pytest.raises(ValueError, match=r"Got rows=\[300\]"):
        report(tree, x, y, rows=[300], out=out)
    with pytest.raises(ValueError, match="Got level=2"):
        report(tree, x, y, level=2, out=out)
    with pytest.raises(TypeError, match="Got out=3"):
        report(tree, x, y, out=3)
    with pytest.raises(ValueError, match=r"Got out=.*report\.pdf'; expected a name that ends"):
        report(tree, x, y, out=tmp_path / "report.pdf")
    assert not list(tmp_path.iterdir())


def test_without_jinja2_the_remedy_is_named(tree, data, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"treerank-ml\[report\]"):
        report(tree, *data[2:], out=None)


@pytest.mark.parametrize(
    "model", [TreeRank(), BoostedTreeRank(n_estimators=5)], ids=["tree", "boosted"]
)
def test_the_rows_judged_are_binned_once(model, monkeypatch):
    x, y = load_breast_cancer(return_X_y=True)
    model.fit(x, y)
    whole = []
    encode = _core.encode

    def count(matrix, *others):
        whole.append(np.array_equal(matrix, x))
        return encode(matrix, *others)

    monkeypatch.setattr(_core, "encode", count)
    report(model, x, y, out=None)
    assert sum(whole) == 1


def test_numbers_among_text_in_an_array_are_drawn_as_numbers():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=300)
    levels = np.where(signal > 0.5, "high", "low")
    frame = pd.DataFrame({"x0": signal, "x1": rng.normal(size=300), "x2": levels})
    labels = (signal + rng.normal(size=300) > 0).astype(int)
    pages = []
    for rows in (frame.to_numpy(), frame):
        model = TreeRank(max_depth=3, soft_labels=False).fit(rows, labels)
        pages.append(report(model, rows, labels, out=None))
    pictures = [re.findall(r'<path class="curve" d="[^"]+"', page) for page in pages]
    assert pictures[0] == pictures[1]
    assert len(pictures[0]) > 1
