"""`fit_parquet`: the model of `fit`, for any cut of the rows into files and row groups."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from hypothesis_examples import examples
from parquet_files import FEATURES, TREE, N, fit_in_memory, loans, write
from same_models import digest

from treerank import LeafRank, RankingForest, TreeRank
from treerank._io import parquet_files


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


def test_leafrank_with_a_pruning_of_its_own_reads_codes_in_another_order(folder):
    write(loans(), folder, [100])
    model = TreeRank(LeafRank(pruning="cv"), **TREE, max_depth=3)
    expected = digest(fit_in_memory(model, folder, "repaid", None, FEATURES))
    assert digest(model.fit_parquet(folder, "repaid", columns=FEATURES)) == expected
