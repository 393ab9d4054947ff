"""Parquet files that cannot be fitted to are refused with the reason."""

import numpy as np
import pandas as pd
import pytest
from parquet_files import TREE, loans, write
from sklearn.svm import SVC

from treerank import RankingForest, TreeRank


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


def test_the_target_cannot_be_the_weight(tmp_path):
    pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="Got 'y' as target and as sample_weight"):
        TreeRank().fit_parquet(tmp_path / "rows.parquet", "y", sample_weight="y")
