"""`treerank score`: scores and reasons are those of Python."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest
from command_line import assert_one_line, in_python, run
from saved_models import loans, numbers

import treerank
from treerank import TreeRank, baselines
from treerank.inspection import reasons


def read_csv(path, delimiter=","):
    """Read numbers to the bit."""
    from pyarrow import csv

    options = csv.ParseOptions(delimiter=delimiter)
    return csv.read_csv(path, parse_options=options).to_pandas()


@pytest.mark.parametrize("model", ["tree", "forest"])
@pytest.mark.parametrize("name", ["new.csv", "new.tsv", "new.csv.gz", "new.parquet"])
def test_scores_are_those_of_python(folder, tmp_path, model, name):
    out = tmp_path / "scores.csv"
    result = run("score", folder / f"{model}.model", folder / name, "--out", out, "--id", "id",
                 "--probability")  # fmt: skip
    assert result.exit_code == 0, result.output
    loaded, rows, expected = in_python(folder, model)
    table = read_csv(out)
    assert table["id"].tolist() == rows["id"].tolist()
    np.testing.assert_array_equal(table["score"], expected)
    shares = loaded.predict_proba(rows[loaded.feature_names_in_])
    np.testing.assert_array_equal(table["probability_yes"], shares[:, 1])
    assert ("stratum" in table) == (model == "tree")
    assert [p.name for p in tmp_path.iterdir()] == ["scores.csv"]


def test_scores_go_to_every_format_and_to_the_standard_output(folder, tmp_path):
    _, _, expected = in_python(folder, "tree")
    readers = {
        "s.parquet": pd.read_parquet,
        "s.csv.gz": read_csv,
        "s.tsv": lambda p: read_csv(p, "\t"),
    }
    for name, read in readers.items():
        assert run("score", folder / "tree.model", folder / "new.csv", "--out", tmp_path / name)
        np.testing.assert_array_equal(read(tmp_path / name)["score"], expected)
    assert gzip.decompress((tmp_path / "s.csv.gz").read_bytes()).startswith(b'"score"')
    result = run("score", folder / "tree.model", "-", given=(folder / "new.csv").read_bytes())
    table = read_csv(io.BytesIO(result.stdout.encode()))
    np.testing.assert_array_equal(table["score"], expected)


@pytest.mark.parametrize("model", ["tree", "forest"])
@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_reasons_are_those_of_python(folder, tmp_path, model, name):
    out, codes = tmp_path / "scores.parquet", tmp_path / "codes.csv"
    loaded, rows, _ = in_python(folder, model)
    rows = rows[loaded.feature_names_in_]
    feature = str(loaded.feature_names_in_[int(np.argmax(loaded.feature_importances_))])
    codes.write_text(f"feature,code,text\n{feature},R1,\n")
    result = run("score", folder / f"{model}.model", folder / name, "--out", out, "--reasons", "2",
                 "--baseline", folder / "train.csv", "--direction", "up", "--codes", codes,
                 "--id", "id")  # fmt: skip
    assert result.exit_code == 0, result.output
    baseline = in_python(folder, model, "train")[1][loaded.feature_names_in_]
    expected = reasons(loaded, rows, 2, baseline=baseline, direction="up", codes={feature: "R1"})
    table = pd.read_parquet(out)
    for k in range(2):
        listed = [row[k] if k < len(row) else None for row in expected]
        texts = ["" if r is None else r.text for r in listed]
        assert table[f"reason_{k + 1}"].fillna("").tolist() == texts
        said = table[f"reason_code_{k + 1}"]
        assert said.notna().tolist() == [r is not None and r.feature == feature for r in listed]


def test_reasons_without_a_baseline_say_values_alone(folder, tmp_path):
    out = tmp_path / "scores.csv"
    result = run("score", folder / "forest.model", folder / "new.csv", "--out", out,
                 "--reasons", "1")  # fmt: skip
    assert result.exit_code == 0, result.output
    table = read_csv(out)
    assert table["reason_1"].str.len().gt(0).any()
    assert "reason_2" not in table
    assert "reason_code_1" not in table


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--reference", "best"], "without a baseline"),
        (["--direction", "left"], "Got --direction 'left'"),
        (["--codes", "FOLDER/new.csv"], "there is no column 'feature'"),
        (["--baseline", "FOLDER/nothing.csv"], "there is no such file"),
    ],
)
def test_wrong_reason_options_are_one_line(folder, tmp_path, options, message):
    options = [option.replace("FOLDER", str(folder)) for option in options]
    out = tmp_path / "scores.csv"
    result = run("score", folder / "tree.model", folder / "new.csv", "--out", out, "--reasons", "2",
                 *options)  # fmt: skip
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.count("\n") == 1
    assert not out.exists()


def test_blocks_add_up_to_the_whole(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("treerank.cli._sources.BLOCK_BYTES", 2000)
    out = tmp_path / "scores.csv"
    assert run("score", folder / "tree.model", folder / "new.csv", "--out", out).exit_code == 0
    _, _, expected = in_python(folder, "tree")
    np.testing.assert_array_equal(read_csv(out)["score"], expected)


def test_models_made_in_python_score_files_by_position_or_with_booleans(tmp_path):
    X, y = numbers()
    pd.DataFrame(X).to_csv(tmp_path / "new.csv", index=False)
    named = pd.DataFrame(X).add_prefix("x")
    named.to_csv(tmp_path / "named.csv", index=False)
    frame, labels = loans()
    frame.to_csv(tmp_path / "loans.csv", index=False)
    cases = [
        (TreeRank().fit(X, y), X, "new.csv"),
        (baselines.RankBoost(n_estimators=5).fit(X, y), X, "new.csv"),
        (baselines.RankBoost(n_estimators=5).fit(named, y), named, "named.csv"),
        (TreeRank().fit(frame, labels), frame, "loans.csv"),
    ]
    for model, rows, name in cases:
        treerank.save(model, tmp_path / "model")
        result = run("score", tmp_path / "model", tmp_path / name, "--out", tmp_path / "out.csv")
        assert result.exit_code == 0, result.output
        assert "note" not in result.output
        found = read_csv(tmp_path / "out.csv")["score"]
        np.testing.assert_array_equal(found, model.score_samples(rows))


def test_every_kind_of_saved_model_scores_a_file(tmp_path):
    frame, labels = loans()
    frame.to_csv(tmp_path / "loans.csv", index=False)
    models = [
        treerank.BoostedTreeRank(n_estimators=5).fit(frame, labels),
        treerank.GeometricRanker(TreeRank(max_depth=2)).fit(frame, labels),
        TreeRank(treerank.splitters.DyadicGrid(2)).fit(frame, labels),
    ]
    for model in models:
        treerank.save(model, tmp_path / "model")
        result = run("score", tmp_path / "model", tmp_path / "loans.csv", "--out",
                     tmp_path / "out.csv", "--probability")  # fmt: skip
        assert result.exit_code == 0, result.output
        table = read_csv(tmp_path / "out.csv")
        np.testing.assert_array_equal(table["score"], model.score_samples(frame))
        np.testing.assert_array_equal(table["probability_1"], model.predict_proba(frame)[:, 1])


@pytest.mark.parametrize("name", ["s.xlsx", "s.json", "s.parquet.gz", "s.csv.zip", "s.json.gz"])
def test_other_formats_are_refused_before_any_work(tmp_path, name):
    out = tmp_path / name
    result = run("score", tmp_path / "no.model", tmp_path / "no.csv", "--out", out)
    assert result.exit_code == 2
    assert result.stderr == (
        f"treerank: Got --out {out}; expected a name that ends in .csv, .tsv, .txt (also followed "
        "by .gz, .bz2, .zst), .parquet or .pq.\n"
    )
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("s.pq", pd.read_parquet),
        ("s.PARQUET", pd.read_parquet),
        ("s.parquet.csv", pd.read_csv),
        ("s.2024.CSV.gz", pd.read_csv),
        ("s.txt", pd.read_csv),
        ("s", pd.read_csv),
    ],
)
def test_the_last_ending_says_the_format(folder, tmp_path, name, read):
    out = tmp_path / name
    result = run("score", folder / "tree.model", folder / "new.csv", "--out", out)
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(read(out)["score"], in_python(folder, "tree")[2])


def test_columns_are_copied_unchanged_even_where_the_model_uses_them(folder, tmp_path):
    loaded, _rows, expected = in_python(folder, "tree")
    table = pd.read_csv(folder / "new.csv", dtype=str, keep_default_na=False)
    table["id"] = ["NA", "null", "007", "", *table["id"].tolist()[4:]]
    table.to_csv(tmp_path / "t.csv", index=False)
    copied = ["id", *loaded.feature_names_in_]
    result = run("score", folder / "tree.model", tmp_path / "t.csv", "--out", tmp_path / "s.csv",
                 *[part for name in copied for part in ("--id", name)])  # fmt: skip
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "s.csv", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(found[copied], table[copied])
    np.testing.assert_array_equal(read_csv(tmp_path / "s.csv")["score"], expected)


def test_columns_of_parquet_are_copied_with_their_types(folder, tmp_path):
    loaded, rows, expected = in_python(folder, "tree")
    numbers = [name for name in loaded.feature_names_in_ if rows[name].dtype.kind in "if"]
    long = rows.assign(long=np.arange(len(rows)) + 2**60)
    long.to_parquet(tmp_path / "t.parquet")
    result = run("score", folder / "tree.model", tmp_path / "t.parquet", "--out",
                 tmp_path / "s.parquet", "--id", "long", "--id", numbers[0])  # fmt: skip
    assert result.exit_code == 0, result.output
    found = pd.read_parquet(tmp_path / "s.parquet")
    assert found["long"].tolist() == long["long"].tolist()
    pd.testing.assert_series_equal(found[numbers[0]], rows[numbers[0]], check_index=False)
    np.testing.assert_array_equal(found["score"], expected)


def test_a_column_of_parquet_with_another_type_is_named(folder, tmp_path):
    path = tmp_path / "t.parquet"
    rows = pd.read_parquet(folder / "new.parquet")
    rows.assign(age=pd.Timestamp("2024-01-01")).to_parquet(path)
    result = run("score", folder / "tree.model", path, "--out", tmp_path / "s.csv")
    assert_one_line(result, path, "column 'age' has type timestamp[us]; expected numbers, as in")
    assert list(tmp_path.iterdir()) == [path]


def test_a_column_to_copy_with_the_name_of_one_that_is_added_is_refused(folder, tmp_path):
    table = pd.read_csv(folder / "new.csv").assign(score=0.5)
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "s.csv"
    result = run("score", folder / "tree.model", tmp_path / "t.csv", "--id", "score", "--out", out)
    assert result.exit_code == 2
    assert "column 'score' (--id) has the name of a column that is added" in result.stderr
    assert not out.exists()


def test_a_column_spelled_differently_is_suggested(folder, tmp_path):
    loaded, rows, _ = in_python(folder, "tree")
    name = loaded.feature_names_in_[0]
    rows.rename(columns={name: name.upper()}).to_csv(tmp_path / "t.csv", index=False)
    result = run("score", folder / "tree.model", tmp_path / "t.csv")
    assert result.exit_code == 2
    assert f"Did you mean {name.upper()!r}?" in result.stderr
    rows.drop(columns="home").to_csv(tmp_path / "t.csv", index=False)
    assert "Did you mean" not in run("score", folder / "tree.model", tmp_path / "t.csv").stderr
