"""`treerank fit`: formats, options, several files, a cluster, and what it prints."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import assert_one_line, run

import treerank
from treerank import RankingForest


def test_fit_says_types_classes_strata_and_held_out_auc(folder):
    result = run("fit", folder / "train.csv", "--target", "default", "--id", "id", "--drop", "w")
    assert result.exit_code == 0
    out = result.output
    assert "income" in out
    assert "number" in out
    assert "category" in out
    assert "ranked no < yes" in out
    assert "AUC on held-out rows: 0." in out
    assert "stratum" in out


@pytest.mark.parametrize("name", ["train.tsv", "train.csv.gz", "train.parquet"])
def test_every_format_gives_the_same_model(folder, tmp_path, name):
    path = tmp_path / "model"
    arguments = ["--target", "default", "--id", "id", "--drop", "w", "--save", path, "--cv", "0"]
    assert run("fit", folder / name, *arguments).exit_code == 0
    fitted, expected = json.loads(path.read_text()), json.loads((folder / "tree.model").read_text())
    assert fitted["fitted"] == expected["fitted"]


def test_fit_reads_the_standard_input_packed_or_not(folder, tmp_path):
    for name in ("train.csv", "train.csv.gz"):
        path = tmp_path / "model"
        result = run(
            "fit", "-", "--target", "default", "--id", "id", "--drop", "w", "--save", path,
            given=(folder / name).read_bytes(),
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        expected = json.loads((folder / "tree.model").read_text())
        assert json.loads(path.read_text())["fitted"] == expected["fitted"]


@pytest.fixture(scope="module")
def parts(folder):
    """The training rows in three Parquet files."""
    parts = folder / "parts"
    parts.mkdir()
    train = pd.read_parquet(folder / "train.parquet")
    for k, (i, j) in enumerate([(0, 100), (100, 450), (450, 600)]):
        train[i:j].to_parquet(parts / f"{k}.parquet")
    return parts


LARGE = ["--target", "default", "--id", "id", "--drop", "w"]


def test_several_parquet_files_give_the_model_of_one(folder, parts, tmp_path):
    expected = json.loads((folder / "tree.model").read_text())["fitted"]
    ways = [[parts], [parts / "*.parquet"], [parts / f"{k}.parquet" for k in range(3)]]
    for way in ways:
        path = tmp_path / "model"
        result = run("fit", *way, *LARGE, "--save", path, "--cache-dir", tmp_path / "codes")
        assert result.exit_code == 0, result.output
        assert json.loads(path.read_text())["fitted"] == expected
        assert "600 rows of 3 files; ranked no < yes" in result.output
        assert "AUC on held-out rows: 0." in result.output
    assert (tmp_path / "codes" / "codes.npy").is_file()


def test_a_cluster_gives_the_model_of_memory(folder, parts, tmp_path):
    from clusters import forked_workers

    expected = json.loads((folder / "tree.model").read_text())["fitted"]
    path = tmp_path / "model"
    log = tmp_path / "growth.npz"
    with forked_workers():
        result = run("fit", parts, *LARGE, "--save", path, "--dask", "local", "--checkpoint", log)
    assert result.exit_code == 0, result.output
    assert json.loads(path.read_text())["fitted"] == expected
    assert not log.exists()


def test_boosting_on_a_cluster_gives_the_model_of_files(parts, tmp_path):
    from clusters import forked_workers

    fit = ["fit", parts, *LARGE, "--model", "boosting", "--trees", "2", "--save"]
    with forked_workers():
        result = run(*fit, tmp_path / "cluster", "--dask", "local")
    assert result.exit_code == 0, result.output
    assert run(*fit, tmp_path / "here").exit_code == 0
    cluster, here = (treerank.load(tmp_path / name) for name in ("cluster", "here"))
    rows = pd.read_parquet(parts)[list(here.feature_names_in_)]
    assert np.array_equal(cluster.score_samples(rows), here.score_samples(rows))


def test_what_is_wrong_with_a_cluster_is_said_in_a_line(parts, monkeypatch):
    monkeypatch.setattr("treerank.cli._cluster.SECONDS_TO_CONNECT", 0.2)
    cases = [
        (["--dask", "tcp://127.0.0.1:1"], "no scheduler answers there"),
        (["--checkpoint", "growth.npz"], "--checkpoint without --dask"),
        (["--dask", "local", "--cache-dir", "kept"], "--cache-dir with --dask"),
    ]
    for options, said in cases:
        result = run("fit", parts, *LARGE, *options)
        assert result.exit_code == 2
        assert said in result.output.replace("\n", " ")


def test_several_files_obey_positive_order_weight_and_type(parts, tmp_path):
    path = tmp_path / "model"
    arguments = ["fit", parts, "--target", "default", "--drop", "id", "--save", path]
    result = run(*arguments, "--weight", "w", "--type", "age=category", "--positive", "no")
    assert result.exit_code == 0, result.output
    model = treerank.load(path)
    assert model.label_order_.tolist() == ["yes", "no"]
    assert "age" in model.categorical_features
    result = run(*arguments, "--model", "forest", "--trees", "5", "--order", "yes, no")
    assert result.exit_code == 0, result.output
    assert "AUC on rows a tree has not seen" in result.output
    assert treerank.load(path).label_order_.tolist() == ["yes", "no"]


def test_what_is_wrong_with_several_files_is_said_in_a_line(folder, parts, tmp_path):
    cases = [
        ([tmp_path / "*.parquet", *LARGE], "which no file matches"),
        ([folder / "train.csv", folder / "new.csv", *LARGE], "not a Parquet file"),
        ([parts, "--target", "nope"], "without the column 'nope'"),
        ([parts, *LARGE, "--positive", "perhaps"], "--positive names 'perhaps'"),
        ([parts, *LARGE, "--order", "no, maybe"], "--order names 'maybe'"),
        ([parts, *LARGE, "--order", "no"], "--order misses the label 'yes'"),
        ([parts, *LARGE, "--type", "member=number"], "--type member=number"),
        ([parts, "--target", "member", "--positive", "true", "--report", "r.html"], "--report"),
        ([parts, *LARGE, "--cv", "3"], "Got --cv with several files"),
    ]
    for arguments, expected in cases:
        result = run("fit", *arguments)
        assert result.exit_code == 2
        assert expected in result.stderr
        assert result.stderr.count("\n") == 1


def test_types_weights_positive_and_seed_are_obeyed(folder, tmp_path):
    path = tmp_path / "model"
    result = run(
        "fit", folder / "train.csv", "--target", "default", "--positive", "no", "--weight", "w",
        "--type", "age=category", "--drop", "id", "--seed", "7", "--save", path, "--small",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    model = treerank.load(path)
    assert model.label_order_.tolist() == ["yes", "no"]
    assert model.categorical_features == ["age", "home", "member"]
    assert model.random_state == 7
    assert model.one_standard_error
    assert model.partition_.counts.sum() == 1200
    assert model.partition_.counts[:, 1].sum() > model.partition_.counts[:, 0].sum() / 3


def test_a_forest_is_judged_out_of_bag(folder, tmp_path):
    result = run(
        "fit", folder / "train.csv", "--target", "default", "--drop", "id", "--drop", "w",
        "--model", "forest", "--trees", "30", "--save", tmp_path / "model", "--threads", "2",
    )  # fmt: skip
    assert "AUC on rows a tree has not seen: 0." in result.output
    assert isinstance(treerank.load(tmp_path / "model"), RankingForest)


def test_boosted_trees_are_fitted_judged_and_saved(folder, tmp_path):
    result = run(
        "fit", folder / "train.csv", "--target", "default", "--drop", "id", "--drop", "w",
        "--model", "boosting", "--trees", "5", "--cv", "2", "--save", tmp_path / "model",
    )  # fmt: skip
    assert "AUC on held-out rows: 0." in result.output
    assert treerank.load(tmp_path / "model").n_estimators_ == 5


def test_boosting_has_as_many_trees_as_it_needs_and_learns_from_several_files(parts, tmp_path):
    result = run("fit", parts, *LARGE, "--model", "boosting", "--save", tmp_path / "model")
    assert result.exit_code == 0, result.output
    model = treerank.load(tmp_path / "model")
    assert model.n_estimators == "auto"
    plan = model.plan_
    assert model.n_estimators_ == plan.n_trees[plan.max_depth, plan.leafrank_depth]


def test_labels_are_ordered_as_told(folder, tmp_path):
    table = pd.read_csv(folder / "train.csv")
    table["grade"] = np.array(["c", "b", "a"])[
        (table["age"] > 35).astype(int) + (table["age"] > 60)
    ]
    table.drop(columns=["w", "id"]).to_csv(tmp_path / "graded.csv", index=False)
    model = tmp_path / "model"
    result = run("fit", tmp_path / "graded.csv", "--target", "grade", "--order", "c,b,a",
                 "--model", "forest", "--trees", 5, "--save", model)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "c < b < a" in result.output
    assert "VUS on rows a tree has not seen" in result.output
    loaded = treerank.load(model)
    assert loaded.label_order_.tolist() == ["c", "b", "a"]
    out = tmp_path / "scores.csv"
    result = run("score", model, tmp_path / "graded.csv", "--probability", "--out", out)
    assert result.exit_code == 0, result.output
    scored = pd.read_csv(out)
    assert scored.columns[-3:].tolist() == ["probability_c", "probability_b", "probability_a"]
    rows = table[loaded.feature_names_in_].assign(member=table["member"].astype(str))
    shares = loaded.predict_proba(rows)
    assert np.array_equal(scored[["probability_a", "probability_b", "probability_c"]], shares)
    for order, said in [
        ("c,b,x", "--order names 'x', which the target does not have; it has a, b, c."),
        ("c,b", "--order misses the label 'a'; expected every label of the target once, worst "
                "first: a, b, c."),
        ("c,b,a,b", "--order names a label twice; expected every label of the target once"),
    ]:  # fmt: skip
        result = run("fit", tmp_path / "graded.csv", "--target", "grade", "--order", order)
        assert result.exit_code == 2
        assert said in result.stderr


def test_brackets_and_colons_in_names_are_printed_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    grade = np.where(x + rng.normal(size=200) > 0, "[i]neg", "[/b]pos\\")
    kind = rng.choice(["[red]a", ":smile:"], 200)
    rows = pd.DataFrame({"[b]x": x, ":x:": x**2, "kind": kind, "grade": grade})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    paths = [tmp_path / "rows.parquet", tmp_path / "more.parquet"]
    for path in paths:
        rows.to_parquet(path)
    order = ("--order", "[/b]pos\\,[i]neg")
    for given in ([tmp_path / "rows.csv"], [*paths, *order]):
        out = run("fit", *given, "--target", "grade")
        assert out.exit_code == 0, out.output
        said = " ".join(out.output.split())
        for name in ("[b]x", ":x:", "[/b]pos\\ < [i]neg", "share of [i]neg"):
            assert name in said


def test_of_many_strata_the_best_and_the_worst_are_printed(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3_000, 3))
    y = (x[:, 0] + x[:, 1] + 0.5 * rng.normal(size=3_000) > 0).astype(int)
    pd.DataFrame(x, columns=list("abc")).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    result = run("fit", tmp_path / "rows.csv", "--target", "y", "--save", tmp_path / "m.json")
    n = len(treerank.load(tmp_path / "m.json").partition_)
    assert n > 20
    assert f"{n - 20} strata in the middle are not shown" in result.output
    table = result.output.split("\nstratum ")[1].split(" strata in the middle")[0]
    shown = [line.split()[0] for line in table.split("\n")[:-1] if line[:2].strip().isdigit()]
    assert shown == [str(k) for k in (*range(15), *range(n - 5, n))]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trees", "9"], "Got --trees with one tree; expected it with --model forest or"),
        (["--model", "forest", "--max-depth", "3"], "Got --max-depth with --model forest;"),
        (["--model", "boosting", "--max-depth", "10"], "Got --max-depth with --model boosting;"),
        (["--model", "boosting", "--small"], "Got --small with --model boosting; expected it with"),
        (["--cv", "1"], "Got --cv 1; expected 2 folds or more, or 0 for none."),
        (["--model", "forest", "--cv", "-3"], "Got --cv -3; expected 2 folds or more, or 0"),
    ],
)
def test_options_that_would_be_ignored_are_refused(tmp_path, words, message):
    result = run("fit", tmp_path / "no.csv", "--target", "y", *words)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"treerank: {message}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seed", "-1"], "Got --seed -1; expected an integer from 0 to 2**32 - 1."),
        (["--threads", "0"], "Got --threads 0; expected an integer >= 1, or a negative one"),
        (["--max-depth", "0"], "Got --max-depth 0; expected an integer >= 1, or leave out --max-"),
    ],
)
def test_values_of_options_are_refused_in_the_words_of_the_command_line(folder, words, message):
    result = run("fit", folder / "train.csv", "--target", "default", *words)
    assert_one_line(result, folder / "train.csv", message)


def test_a_focus_with_three_classes_is_refused_in_the_words_of_the_command_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(60)))
    result = run("fit", path, "--target", "y", "--focus", "0.1")
    assert_one_line(result, path, "Got --focus 0.1 with 3 classes; leave out --focus: local")


def test_a_tree_has_ten_levels_unless_said(folder):
    assert treerank.load(folder / "tree.model").max_depth == 10


def test_long_rules_are_cut_short(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2_000, 6))
    y = (x.sum(axis=1) + rng.normal(size=2_000) > 0).astype(int)
    names = [f"a rather long name of column {k}" for k in range(6)]
    pd.DataFrame(x, columns=names).assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    result = run("fit", tmp_path / "rows.csv", "--target", "y", "--save", tmp_path / "m.json")
    assert max(map(len, treerank.load(tmp_path / "m.json").partition_.rules())) > 400
    assert "Long rules are cut short; treerank rules prints them" in result.output
    assert "…" in result.output


def test_a_tree_without_splits_is_explained(tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": rng.normal(size=60), "y": rng.integers(0, 2, 60)}).to_csv(
        tmp_path / "noise.csv", index=False
    )
    model = tmp_path / "tree.model"
    result = run("fit", tmp_path / "noise.csv", "--target", "y", "--save", model)
    assert "All rows are one stratum, because no tree ranked held-out rows clearly" in result.output
    assert "1 stratum; classes 0 < 1." in run("rules", model).output
