"""`fit_parquet`: the model of `fit`, for any cut of the rows into files and row groups."""

import hashlib
import os
import tempfile
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis_examples import examples
from sklearn.svm import SVC

import treerank
from treerank import LeafRank, RankingForest, TreeRank
from treerank._io import parquet_files

N = 600
TREE = {"random_state": 0, "cv": 3}


def loans(n=N, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.normal(size=n),
            "age": rng.integers(18, 80, n),
            "rate": rng.normal(size=n).astype(np.float32),
            "town": rng.choice(["Rome", "Oslo", "", None], n),
            "purpose": pd.Categorical(rng.choice(["car", "home", "boat"], n)),
            "owner": rng.random(n) < 0.5,
            "agent": [f"agent {i}" for i in rng.integers(0, 300, n)],
            "unknown": [None] * n,
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    risk = frame["income"].fillna(0.5) + (frame["town"] == "Oslo") + rng.normal(size=n)
    frame["repaid"] = (risk < 0.4).astype(np.int8)
    frame["grade"] = pd.cut(risk, [-9, -0.5, 0.8, 9], labels=["good", "fair", "poor"])
    frame["weight"] = rng.random(n).round(3)
    frame["times"] = rng.integers(0, 4, n)
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for the files; and one for what is temporary, which must end up empty."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    data = tmp_path / "data"
    data.mkdir()
    yield data
    assert list(temporary.iterdir()) == []


def write(frame, folder, cuts=(), row_group_size=10_000):
    edges = [0, *cuts, len(frame)]
    for k, (i, j) in enumerate(pairwise(edges)):
        frame[i:j].to_parquet(
            folder / f"{k:02}.parquet", row_group_size=row_group_size, index=False
        )
    return folder


def fit_in_memory(model, folder, target, weight=None, columns=None):
    frame = pd.read_parquet(folder)
    columns = columns or [name for name in frame if name not in (target, weight)]
    return model.fit(frame[columns], frame[target], None if weight is None else frame[weight])


def digest(model):
    """Hash of everything in the model."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model"
        treerank.save(model, path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


FEATURES = ["income", "age", "rate", "town", "purpose", "owner", "agent", "unknown"]


@pytest.mark.parametrize("weight", [None, "weight", "times"])
@pytest.mark.parametrize("target", ["repaid", "grade", "owner", "town"])
def test_the_model_is_that_of_fit(folder, weight, target):
    frame = loans()
    frame["town"] = frame["town"].fillna("Rome")  # a target of text
    write(frame, folder, [150, 151, 400], row_group_size=70)
    columns = [name for name in FEATURES if name != target]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an order of towns
        expected = fit_in_memory(TreeRank(**TREE), folder, target, weight, columns)
        found = TreeRank(**TREE).fit_parquet(folder, target, sample_weight=weight, columns=columns)
    assert found.unpruned_tree_.n_cells > 10
    assert digest(found) == digest(expected)
    assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    assert found.classes_.dtype == expected.classes_.dtype


@examples(12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, N), max_size=4).map(sorted),
    row_group_size=st.integers(20, N),
    block_rows=st.integers(8, 200),
)
def test_files_row_groups_and_blocks_do_not_matter(
    tmp_path_factory, monkeypatch, cuts, row_group_size, block_rows
):
    monkeypatch.setattr(parquet_files, "MOST_ROWS", block_rows)
    monkeypatch.setattr(parquet_files, "LEAST_ROWS", 1)
    monkeypatch.setattr("treerank._input.column_stats.SAMPLE_ROWS", 200)  # of 600: the draw matters
    folder = write(loans(), tmp_path_factory.mktemp("cut"), cuts, row_group_size)
    columns = FEATURES
    model = TreeRank(random_state=0, pruning=None, shrinkage=1.0, max_bins=16, max_depth=4)
    fitted = model.fit_parquet(folder, "repaid", sample_weight="times", columns=columns)
    found = digest(fitted)
    assert found == digest(fit_in_memory(model, folder, "repaid", "times", columns))


@pytest.mark.parametrize("weight", ["weight", "times"])
@pytest.mark.parametrize("factor", [3.0, 0.1])
def test_multiplying_all_weights_changes_nothing(folder, tmp_path, weight, factor):
    frame = loans()
    write(frame, folder, [150, 400])
    model = TreeRank(random_state=0).fit_parquet(
        folder, "repaid", sample_weight=weight, columns=FEATURES
    )
    frame[weight] = factor * frame[weight]
    (tmp_path / "multiplied").mkdir()
    other = write(frame, tmp_path / "multiplied", [150, 400])
    again = TreeRank(random_state=0).fit_parquet(
        other, "repaid", sample_weight=weight, columns=FEATURES
    )
    assert digest(again) == digest(model)


@pytest.mark.parametrize("target", ["repaid", "grade"])
def test_forests_are_those_of_fit(folder, target):
    write(loans(), folder, [100], row_group_size=90)
    forest = {"n_estimators": 6, "oob_score": True, "random_state": 1}
    expected = fit_in_memory(RankingForest(**forest), folder, target, "times", FEATURES)
    found = RankingForest(**forest).fit_parquet(
        folder, target, sample_weight="times", columns=FEATURES
    )
    assert digest(found) == digest(expected)
    assert np.array_equal(
        found.oob_decision_function_, expected.oob_decision_function_, equal_nan=True
    )


def test_a_forest_goes_on_from_its_trees(folder):
    write(loans(), folder, [100])
    few = RankingForest(n_estimators=4, random_state=0, warm_start=True)
    few.fit_parquet(folder, "repaid", columns=FEATURES)
    more = few.set_params(n_estimators=7).fit_parquet(folder, "repaid", columns=FEATURES)
    whole = RankingForest(n_estimators=7, random_state=0, warm_start=True)
    assert digest(more) == digest(whole.fit_parquet(folder, "repaid", columns=FEATURES))
    with pytest.raises(ValueError, match="Got other data with warm_start=True"):
        more.fit_parquet(folder, "repaid", columns=FEATURES[:3])


@pytest.mark.parametrize("missing", [False, True])
def test_numbers_named_categories_have_the_levels_of_pandas(folder, missing):
    frame = loans()[["age", "rate", "repaid"]]
    if missing:
        frame["age"] = frame["age"].astype(float).where(frame["age"] > 30).astype("Int64")
    frame["age"] = frame["age"].astype("Int64")
    arrow = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(arrow, folder / "a.parquet", row_group_size=50)
    model = TreeRank(**TREE, categorical_features=["age"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = digest(fit_in_memory(model, folder, "repaid"))
        assert digest(model.fit_parquet(folder, "repaid")) == expected


def test_more_than_255_levels_and_whole_numbers_beyond_doubles(folder):
    frame = loans(1500)[["agent", "repaid"]].assign(big=2**60 + np.arange(1500))
    frame["agent"] = [f"agent {i % 700}" for i in range(1500)]
    write(frame, folder, [77, 800], row_group_size=111)
    model = TreeRank(**TREE)
    expected = digest(fit_in_memory(model, folder, "repaid"))
    assert digest(model.fit_parquet(folder, "repaid")) == expected
    assert any(isinstance(level, tuple) for level in model._binning.levels[0])


def test_missing_values_may_count_as_the_mean_of_their_cell(folder, tmp_path):
    write(loans(), folder, [100])
    model = TreeRank(**TREE, missing="cell_mean")
    expected = digest(fit_in_memory(model, folder, "repaid", "weight", FEATURES))
    for _ in range(2):
        model.fit_parquet(
            folder, "repaid", sample_weight="weight", columns=FEATURES, cache_dir=tmp_path / "codes"
        )
        assert digest(model) == expected


def test_files_come_from_a_folder_a_pattern_or_a_list(folder):
    write(loans(), folder, [200, 300])
    (folder / "inner").mkdir()
    (folder / "02.parquet").rename(folder / "inner" / "02.parquet")
    files = [folder / "00.parquet", folder / "01.parquet", folder / "inner" / "02.parquet"]
    ways = [folder, str(folder / "**" / "*.parquet"), files, list(map(str, files))]
    found = {digest(TreeRank(**TREE).fit_parquet(way, "repaid", columns=FEATURES)) for way in ways}
    assert len(found) == 1
    one = TreeRank(**TREE).fit_parquet(str(files[0]), "repaid", columns=FEATURES)
    assert one.partition_.counts.sum() == 200


def test_an_index_of_pandas_is_no_feature(folder):
    loans().set_index("agent").to_parquet(folder / "a.parquet")
    model = TreeRank(**TREE, max_depth=2).fit_parquet(folder, "repaid")
    assert "agent" not in model.feature_names_in_


def test_empty_files_are_passed_over(folder):
    write(loans(), folder, [0, 0, 250])
    expected = fit_in_memory(TreeRank(**TREE), folder, "repaid", None, FEATURES)
    found = TreeRank(**TREE).fit_parquet(folder, "repaid", columns=FEATURES)
    assert digest(found) == digest(expected)


def test_files_of_polars_are_read_as_pandas_reads_them(folder):
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(loans()[[*FEATURES, "repaid"]])
    frame = frame.with_columns(
        polars.col("town").cast(polars.Categorical),
        polars.col("age").replace(30, None),
        polars.col("purpose").cast(polars.Enum(["home", "car", "boat"])),
    )
    frame.write_parquet(folder / "a.parquet", row_group_size=100)
    model = TreeRank(**TREE)
    expected = digest(fit_in_memory(model, folder, "repaid"))
    assert digest(model.fit_parquet(folder, "repaid")) == expected


def test_one_large_row_group_is_read_in_blocks(folder, monkeypatch):
    monkeypatch.setattr(parquet_files, "MOST_ROWS", 128)
    monkeypatch.setattr(parquet_files, "LEAST_ROWS", 1)
    write(loans(), folder, row_group_size=N)
    files = parquet_files.open_parquet(folder, ["repaid"])
    sizes = [len(block) for block in files.blocks(["income", "town"], use_threads=False)]
    assert max(sizes) <= 128
    assert sum(sizes) == N


def test_reading_shows_its_progress(folder, capfd):
    write(loans(), folder, [100])
    TreeRank(**TREE, verbose=1).fit_parquet(folder, "repaid", columns=FEATURES)
    said = capfd.readouterr()
    assert "reading" in said.out + said.err


class TestKeptCodes:
    """Codes that are kept for other fits."""

    @pytest.fixture
    def data(self, folder):
        return write(loans(), folder, [100])

    @pytest.fixture
    def passes(self, monkeypatch):
        """Columns of every pass over the files."""
        read = []
        blocks = parquet_files.ParquetFiles.blocks
        monkeypatch.setattr(
            parquet_files.ParquetFiles,
            "blocks",
            lambda self, names, threads: read.append(list(names)) or blocks(self, names, threads),
        )
        return read

    def fit(self, data, codes, columns=FEATURES, weight="weight", **parameters):
        model = TreeRank(**(TREE | parameters))
        return model.fit_parquet(
            data, "repaid", sample_weight=weight, columns=columns, cache_dir=codes
        )

    def test_features_are_read_twice_and_the_target_once(self, data, passes):
        self.fit(data, None)
        assert passes == [["repaid", "weight"], FEATURES, FEATURES]

    def test_another_fit_does_not_read_the_files(self, data, passes, tmp_path):
        self.fit(data, tmp_path / "codes")
        del passes[:]
        found = self.fit(data, tmp_path / "codes", max_depth=3, random_state=5)
        assert passes == []
        expected = TreeRank(cv=3, max_depth=3, random_state=5)
        assert digest(found) == digest(fit_in_memory(expected, data, "repaid", "weight", FEATURES))

    @pytest.mark.parametrize(
        "other",
        [
            {"max_bins": 32},
            {"categorical_features": ["age"]},
            {"label_order": [1, 0]},
            {"columns": FEATURES[:4]},
            {"weight": None},
        ],
        ids=str,
    )
    def test_what_decides_the_codes_makes_them_anew(self, data, passes, tmp_path, other):
        self.fit(data, tmp_path / "codes")
        del passes[:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = self.fit(data, tmp_path / "codes", **other)
            assert len(passes) == 3
            assert digest(found) == digest(self.fit(data, None, **other))

    def test_changed_files_are_read_again(self, data, passes, tmp_path):
        self.fit(data, tmp_path / "codes")
        del passes[:]
        frame = pd.read_parquet(data / "00.parquet")
        frame["repaid"] = 1 - frame["repaid"]
        frame.to_parquet(data / "00.parquet")
        os.utime(data / "00.parquet", ns=(1, 1))
        found = self.fit(data, tmp_path / "codes")
        assert len(passes) == 3
        assert digest(found) == digest(self.fit(data, None))

    def test_damaged_codes_are_made_anew(self, data, passes, tmp_path):
        expected = digest(self.fit(data, tmp_path / "codes"))
        for name in ("codes.npy", "rows.npz", "about.json"):
            path = tmp_path / "codes" / name
            path.write_bytes(path.read_bytes()[:50])
            del passes[:]
            with pytest.warns(UserWarning, match="Got damaged codes in .* made again"):
                assert digest(self.fit(data, tmp_path / "codes")) == expected
            assert len(passes) == 3
            self.fit(data, tmp_path / "codes")  # without a warning
            assert len(passes) == 3

    def test_a_failed_fit_leaves_kept_codes_alone(self, data, passes, tmp_path):
        self.fit(data, tmp_path / "codes")
        before = {p.name: p.read_bytes() for p in (tmp_path / "codes").iterdir()}
        with pytest.raises(ValueError, match="without the column 'nothing'"):
            TreeRank().fit_parquet(data, "nothing", cache_dir=tmp_path / "codes")
        with pytest.raises(ValueError, match="Unknown label type"):
            TreeRank().fit_parquet(data, "income", cache_dir=tmp_path / "codes")
        assert {p.name: p.read_bytes() for p in (tmp_path / "codes").iterdir()} == before
        del passes[:]
        self.fit(data, tmp_path / "codes")
        assert passes == []

    def test_a_folder_of_something_else_is_refused(self, data, tmp_path):
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos" / "cat.jpg").touch()
        with pytest.raises(ValueError, match=r"with 'cat.jpg' in it; expected a new or empty"):
            self.fit(data, tmp_path / "photos")
        with pytest.raises(ValueError, match="a file; expected a new or empty folder"):
            self.fit(data, tmp_path / "photos" / "cat.jpg")


class TestBadInput:
    """One clear error, nothing changed, nothing left."""

    def refuse(self, path, error=ValueError, match=None, target="repaid", model=None, **arguments):
        model = TreeRank(**TREE) if model is None else model
        before = dict(vars(model))
        with pytest.raises(error, match=match):
            model.fit_parquet(path, target, **arguments)
        assert vars(model) == before

    def test_schemas_that_differ(self, folder):
        write(loans(), folder, [100])
        frame = pd.read_parquet(folder / "01.parquet")
        frame.astype({"age": float}).to_parquet(folder / "01.parquet")
        self.refuse(folder, match=r"'age' as int64 in '.*00.parquet' and as double in '.*01.par")
        frame.drop(columns="rate").to_parquet(folder / "01.parquet")
        self.refuse(folder, match=r"'rate' in '.*00.parquet' but not in '.*01.parquet'")
        frame.assign(more=1).to_parquet(folder / "01.parquet")
        self.refuse(folder, match=r"'more' in '.*01.parquet' but not in '.*00.parquet'")

    def test_a_target_that_one_file_lacks(self, folder):
        write(loans(), folder, [100])
        frame = pd.read_parquet(folder / "01.parquet").drop(columns="repaid")
        frame.to_parquet(folder / "01.parquet")
        self.refuse(folder, match=r"01.parquet' without the column 'repaid'; it has 'income', ")

    def test_no_files_or_none_of_parquet(self, folder):
        self.refuse(folder, FileNotFoundError, "folder without Parquet files")
        self.refuse(folder / "*.parquet", FileNotFoundError, "which no file matches")
        self.refuse([], match="expected at least one Parquet file")
        (folder / "a.parquet").write_text("a,b\n1,2\n")
        self.refuse(folder, match="which is not a Parquet file")

    def test_files_given_twice(self, folder):
        write(loans(), folder)
        self.refuse([folder, folder / "00.parquet"], match="twice; expected every file once")

    def test_no_rows_at_all(self, folder):
        write(loans()[:0], folder)
        self.refuse(folder, match="without any row")

    def test_missing_labels(self, folder):
        frame = loans()
        frame.loc[[130, 140], "repaid"] = None
        write(frame, folder, [100], 25)
        self.refuse(folder, match=r"missing labels in 2 of 600 rows \(first: row 130\)")

    @pytest.mark.parametrize("size", [20, 600])
    def test_infinity(self, folder, size):
        frame = loans()
        frame.loc[[130, 140], "income"] = np.inf
        write(frame, folder, [100], size)
        self.refuse(folder, match=r"infinity in 2 of 600 rows \(first: row 130\)")

    def test_bad_weights(self, folder):
        frame = loans().assign(bad=-1.0, nothing=0.0)
        frame.loc[:200, "bad"] = 2.0
        write(frame, folder, [100])
        self.refuse(folder, match=r"sample_weight\[201\]=-1", sample_weight="bad")
        self.refuse(folder, match="zeros only", sample_weight="nothing")
        self.refuse(folder, match="'town', a column of type", sample_weight="town")

    def test_columns_that_are_no_features(self, folder):
        write(loans(), folder, [100])
        self.refuse(folder, match="without the column 'nope'", columns=["nope"])
        self.refuse(folder, match="'repaid' both in columns and as target", columns=["repaid"])
        self.refuse(folder, match="expected each feature once", columns=["age", "age"])

    def test_dates(self, folder):
        write(loans().assign(day=pd.Timestamp("2020-01-01")), folder)
        self.refuse(folder, match="Column 'day' has type Datetime")

    def test_splitters_that_need_the_values(self, folder):
        write(loans(), folder)
        for model in (TreeRank(SVC()), RankingForest(SVC())):
            self.refuse(folder, match=r"splitter=SVC\(\) in fit_parquet", model=model)

    def test_parameters_are_checked_before_the_features_are_read(self, folder, monkeypatch):
        write(loans(), folder)
        monkeypatch.setattr("treerank._io.parquet.table_seen", None)
        self.refuse(folder, match="max_depth=0", model=TreeRank(max_depth=0))

    def test_folders_parted_by_a_column(self, folder):
        (folder / "year=2020").mkdir()
        write(loans(), folder / "year=2020")
        self.refuse(folder, match="partitioned by a column")

    def test_pyarrow_that_is_absent(self, folder, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
        self.refuse(folder, ModuleNotFoundError, "needs pyarrow")

    def test_a_fit_that_is_stopped(self, folder, monkeypatch, tmp_path):
        write(loans(), folder)

        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("treerank._io.parquet.block_table", stop)
        self.refuse(folder, KeyboardInterrupt)
        self.refuse(folder, KeyboardInterrupt, cache_dir=tmp_path / "codes")
        assert not (tmp_path / "codes").exists()


def test_leafrank_with_a_pruning_of_its_own_reads_codes_in_another_order(folder):
    write(loans(), folder, [100])
    model = TreeRank(LeafRank(pruning="cv"), **TREE, max_depth=3)
    expected = digest(fit_in_memory(model, folder, "repaid", None, FEATURES))
    assert digest(model.fit_parquet(folder, "repaid", columns=FEATURES)) == expected
