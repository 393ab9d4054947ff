"""Benchmark sets. No real data here: sources are made up to the size that the facts ask for."""

import gzip
import hashlib
import http.server
import io
import json
import sys
import threading
import time
import urllib.request

import numpy as np
import pytest

from treerank.datasets import (
    BenchmarkMismatchError,
    BenchmarkUnavailableError,
    list_benchmarks,
    load_benchmark,
)
from treerank.datasets._benchmark import _read_facts

pd = pytest.importorskip("pandas")


def made_up_frame(name, n_incomplete=0):
    """Build a frame that looks like a benchmark set, incomplete rows at its end."""
    facts = _read_facts()[name]
    labels = [k for k, count in facts.classes.items() for _ in range(count)]
    random = np.random.default_rng(0)
    n = facts.rows + n_incomplete
    kept = [f"f{i}" for i in range(facts.features - len(facts.categorical))]
    frame = pd.DataFrame({column: random.normal(size=n).round(3) for column in kept})
    for column in facts.categorical:
        frame[column] = random.choice(["NA", "None", "low"], size=n)
    if n_incomplete:
        frame.loc[facts.rows :, kept[0]] = np.nan
    for column in facts.drop:
        frame[column] = 1.0
    frame["label"] = labels + labels[:n_incomplete]
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder, in place of whatever is there on this machine."""
    monkeypatch.setenv("TREERANK_DATA", str(tmp_path))
    return tmp_path


def test_facts_are_consistent():
    for name, facts in _read_facts().items():
        assert facts.name == name
        assert facts.rows > 0
        assert len(facts.categorical) <= facts.features
        if facts.task == "regression":
            assert not facts.classes
        else:
            assert sum(facts.classes.values()) == facts.rows
        if facts.task == "binary":
            assert list(facts.classes) == ["0", "1"]
            has_labels = bool(facts.openml_labels) or facts.cut is not None
            assert has_labels == (facts.openml_id is not None)


def test_every_set_has_one_task():
    tasks = ("binary", "ordinal", "multiclass", "regression")
    by_task = [name for task in tasks for name in list_benchmarks(task)]
    assert sorted(by_task) == sorted(list_benchmarks())
    assert {"german", "adult", "spambase"} <= set(list_benchmarks("binary"))
    assert {"era", "esl", "lev", "swd", "cardiotocography"} <= set(list_benchmarks("ordinal"))


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_set_is_read_from_the_folder(folder, ending):
    frame = made_up_frame("german")
    frame.to_csv(folder / f"german{ending}", index=False)
    german = load_benchmark("german")
    facts = _read_facts()["german"]
    assert (german.name, german.task) == ("german", "binary")
    assert german.source.endswith(f"german{ending}")
    assert german.X.shape == (1000, 20)
    assert set(german.categorical_features) == set(facts.categorical)
    assert german.feature_names == tuple(german.X.columns)
    np.testing.assert_array_equal(german.y, frame["label"].astype(int))


def test_words_that_look_missing_stay_categories(folder):
    made_up_frame("german").to_csv(folder / "german.csv", index=False)
    column = load_benchmark("german").X["purpose"]
    assert column.dtype == "category"
    assert set(column.cat.categories) == {"NA", "None", "low"}
    assert not column.isna().any()


def test_empty_cells_are_missing(folder):
    frame = made_up_frame("crx")
    frame.loc[[3, 5], "A1"] = np.nan
    frame.loc[7, "f0"] = np.nan
    frame.to_csv(folder / "crx.csv", index=False)
    X = load_benchmark("crx").X
    assert X.isna().to_numpy().sum() == 3
    assert X["A1"].isna().to_numpy().nonzero()[0].tolist() == [3, 5]


def test_given_folder_comes_before_the_environment(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    made_up_frame("wdbc").to_csv(other / "wdbc.csv", index=False)
    assert load_benchmark("wdbc", folder=other).source == str(other / "wdbc.csv")
    assert load_benchmark("wdbc").source == "scikit-learn"


def test_bank_marketing_comes_without_the_column_that_leaks(folder):
    made_up_frame("bank_marketing").to_csv(folder / "bank_marketing.csv", index=False)
    bank = load_benchmark("bank_marketing")
    assert bank.X.shape == (41188, 19)
    assert "duration" not in bank.feature_names


def test_labels_of_unordered_sets_are_left_as_they_are(folder):
    made_up_frame("vehicle").to_csv(folder / "vehicle.csv", index=False)
    assert set(load_benchmark("vehicle").y) == {"bus", "opel", "saab", "van"}


def test_wrong_size_is_refused(folder):
    made_up_frame("esl").iloc[1:].to_csv(folder / "esl.csv", index=False)
    with pytest.raises(BenchmarkMismatchError, match=r"Got 487 rows.*expected 488 rows"):
        load_benchmark("esl")


def test_wrong_class_shares_are_refused(folder):
    frame = made_up_frame("esl")
    frame.loc[0, "label"] = "9"
    frame.to_csv(folder / "esl.csv", index=False)
    with pytest.raises(BenchmarkMismatchError, match="Got class counts"):
        load_benchmark("esl")


def test_file_without_labels_is_refused(folder):
    made_up_frame("esl").drop(columns="label").to_csv(folder / "esl.csv", index=False)
    with pytest.raises(BenchmarkMismatchError, match="without a column 'label'"):
        load_benchmark("esl")


@pytest.mark.parametrize("pandas_installed", [True, False])
def test_scikit_learn_has_three_of_the_sets(folder, monkeypatch, pandas_installed):
    if not pandas_installed:
        monkeypatch.setitem(sys.modules, "pandas", None)
    wdbc, iris, wine = (load_benchmark(name) for name in ("wdbc", "iris", "wine"))
    assert {wdbc.source, iris.source, wine.source} == {"scikit-learn"}
    assert wdbc.y.mean() == pytest.approx(0.3726, abs=1e-4)
    assert set(iris.y) == {"setosa", "versicolor", "virginica"}
    assert np.unique(wine.y).tolist() == [1, 2, 3]
    assert iris.feature_names == ("sepal_length", "sepal_width", "petal_length", "petal_width")
    assert hasattr(iris.X, "columns") == pandas_installed


def test_folder_can_be_read_without_pandas(folder, monkeypatch):
    frame = made_up_frame("crx")
    frame.loc[3, "A1"] = np.nan
    frame.to_csv(folder / "crx.csv.gz", index=False)
    made_up_frame("esl").to_csv(folder / "esl.csv", index=False)
    monkeypatch.setitem(sys.modules, "pandas", None)
    crx, esl = load_benchmark("crx"), load_benchmark("esl")
    assert crx.X.shape == (690, 15)
    first = crx.feature_names.index("A1")
    assert np.isnan(crx.X[3, first])
    assert crx.X[4, first] == frame.loc[4, "A1"]
    assert crx.X[4, 0] == frame.loc[4, "f0"]
    assert esl.X.dtype == np.float64
    with pytest.raises(BenchmarkUnavailableError, match="needs pandas"):
        load_benchmark("german")


def test_no_folder_is_looked_into_unless_it_is_named(monkeypatch):
    monkeypatch.delenv("TREERANK_DATA", raising=False)
    with pytest.raises(BenchmarkUnavailableError, match=r"mq2008\.csv\.gz.*TREERANK_DATA"):
        load_benchmark("mq2008")
    assert load_benchmark("wdbc").source == "scikit-learn"


def test_set_known_to_no_source_says_how_to_get_it(folder):
    with pytest.raises(BenchmarkUnavailableError, match=r"mq2008\.csv\.gz.*TREERANK_DATA"):
        load_benchmark("mq2008")


class MadeUpOpenML:
    """A few sets behind OpenML's addresses, served on loopback."""

    def __init__(self):
        self.answers = {}

    def add(self, number, frame, target="label", default_target=None):
        default_target = default_target or target
        kinds = {c: "numeric" if frame[c].dtype.kind in "if" else "nominal" for c in frame}
        features = [
            {
                "index": str(i),
                "name": column,
                "data_type": kinds[column],
                "is_target": str(column == default_target).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": str(int(frame[column].isna().sum())),
            }
            for i, column in enumerate(frame)
        ]
        arff = self.write_arff(frame, kinds)
        description = {
            "id": str(number),
            "name": "made-up",
            "version": "1",
            "description": "made up",
            "format": "ARFF",
            "status": "active",
            "url": f"https://www.openml.org/data/v1/download/{number}/made_up.arff",
            "md5_checksum": hashlib.md5(arff).hexdigest(),
        }
        quality = [{"name": "NumberOfInstances", "value": str(len(frame))}]
        api = "/api/v1/json/data"
        self.answers |= {
            f"{api}/{number}": json.dumps({"data_set_description": description}).encode(),
            f"{api}/features/{number}": json.dumps(
                {"data_features": {"feature": features}}
            ).encode(),
            f"{api}/qualities/{number}": json.dumps(
                {"data_qualities": {"quality": quality}}
            ).encode(),
            f"/data/v1/download/{number}/made_up.arff": arff,
        }

    @staticmethod
    def write_arff(frame, kinds):
        text = io.StringIO()
        text.write("@RELATION made_up\n")
        for column, kind in kinds.items():
            levels = ",".join(f"'{level}'" for level in sorted(frame[column].dropna().unique()))
            text.write(f"@ATTRIBUTE {column} {'REAL' if kind == 'numeric' else f'{{{levels}}}'}\n")
        text.write("@DATA\n")
        frame.to_csv(text, header=False, index=False, na_rep="?")
        return text.getvalue().encode()


@pytest.fixture
def openml(folder, monkeypatch):
    """A made-up OpenML to which all requests for the real one are sent."""
    site = MadeUpOpenML()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer = site.answers.get(self.path.rstrip("/"))
            # OpenML says 412 for what it does not have.
            self.send_response(412 if answer is None else 200)
            self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(gzip.compress(answer or b"{}"))

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    site.address = f"http://127.0.0.1:{server.server_port}"

    class Redirect(urllib.request.HTTPSHandler):
        def https_open(self, request):
            return self.parent.open(site.address + request.selector, timeout=10)

    no_proxy = urllib.request.ProxyHandler({})
    urllib.request.install_opener(urllib.request.build_opener(no_proxy, Redirect()))
    yield site
    urllib.request.install_opener(None)
    server.shutdown()
    thread.join()
    server.server_close()


def test_set_is_fetched_from_openml(openml, tmp_path):
    frame = made_up_frame("esl")
    frame["label"] = frame["label"].astype(float)
    openml.add(1027, frame)
    esl = load_benchmark("esl", data_home=str(tmp_path / "cache"))
    assert esl.source == "OpenML 1027"
    assert esl.task == "ordinal"
    assert esl.y.dtype == np.int64
    np.testing.assert_array_equal(esl.y, frame["label"])
    np.testing.assert_allclose(esl.X["f0"], frame["f0"])


def test_openml_labels_become_zero_and_one(openml, tmp_path):
    frame = made_up_frame("hepatitis_complete", n_incomplete=43)
    label = frame["label"].astype(int)
    frame["label"] = np.where(label == 1, "DIE", "LIVE")
    frame["f1"] = np.where(frame["f1"] > 0, "yes", "no")
    openml.add(55, frame)
    found = load_benchmark("hepatitis_complete", data_home=str(tmp_path / "cache"))
    # PROTIME and the 43 incomplete rows are gone, the nominal column is a category.
    assert found.X.shape == (112, 18)
    np.testing.assert_array_equal(found.y, label[:112])
    assert found.categorical_features == ("f1",)


def test_numeric_openml_target_is_cut(openml, tmp_path):
    frame = made_up_frame("auto_mpg_binary")
    frame["label"] = np.where(frame["label"] == "1", 30.0, 22.75)
    openml.add(196, frame)
    found = load_benchmark("auto_mpg_binary", data_home=str(tmp_path / "cache"))
    np.testing.assert_array_equal(found.y, frame["label"] > 25)


def test_openml_target_can_be_another_column(openml, tmp_path):
    frame = made_up_frame("bupa").rename(columns={"label": "selector", "f5": "drinks"})
    openml.add(8, frame, target="selector", default_target="drinks")
    found = load_benchmark("bupa", data_home=str(tmp_path / "cache"))
    assert "drinks" in found.feature_names
    np.testing.assert_array_equal(found.y, frame["selector"].astype(int))


def test_another_set_under_the_same_number_is_refused(openml, tmp_path):
    openml.add(1027, made_up_frame("lev"))
    with pytest.raises(BenchmarkMismatchError, match="from OpenML 1027; expected 488 rows"):
        load_benchmark("esl", data_home=str(tmp_path / "cache"))


def test_unknown_openml_labels_are_refused(openml, tmp_path):
    frame = made_up_frame("pima")
    frame["label"] = frame["label"].map({"0": "tested_negative", "1": "perhaps"})
    openml.add(37, frame)
    with pytest.raises(BenchmarkMismatchError, match="Got class counts"):
        load_benchmark("pima", data_home=str(tmp_path / "cache"))


def test_what_openml_does_not_have_says_how_to_get_it(openml, tmp_path):
    with pytest.raises(BenchmarkUnavailableError, match=r"data_id=1027.*TREERANK_DATA"):
        load_benchmark("esl", data_home=str(tmp_path / "cache"))


def test_no_network_says_how_to_get_it(openml, tmp_path, monkeypatch):
    openml.address = "http://127.0.0.1:1"
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with pytest.raises(BenchmarkUnavailableError, match="check the network, or put esl"):
        load_benchmark("esl", data_home=str(tmp_path / "cache"))


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="Got name='titanic'; expected one of list_benchmarks"):
        load_benchmark("titanic")
    with pytest.raises(ValueError, match="Got task='clustering'; expected one of binary"):
        list_benchmarks("clustering")
