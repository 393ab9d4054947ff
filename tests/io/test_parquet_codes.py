"""Codes of Parquet files that are kept for other fits."""

import os
import warnings

import pandas as pd
import pytest
from parquet_files import FEATURES, TREE, fit_in_memory, loans, write
from same_models import digest

from treerank import TreeRank
from treerank._io import parquet_files


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
