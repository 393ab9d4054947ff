"""Files and models that the tests of the commands share."""

import numpy as np
import pytest
from command_line import run
from saved_models import loans, new_rows


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Training and new rows in every format, and a tree and a forest fitted to them."""
    folder = tmp_path_factory.mktemp("cli")
    X, y = loans(600)
    train = X.assign(default=np.where(y == 1, "yes", "no"), w=1 + np.arange(600) % 3)
    train.insert(0, "id", [f"c{i}" for i in range(600)])
    train["member"] = train["member"].map({True: "true", False: "false"})
    new = new_rows(300)
    new["member"] = new["member"].map({True: "true", False: "false"})
    new.insert(0, "id", [f"n{i}" for i in range(300)])
    for name, table in (("train", train), ("new", new)):
        table.to_csv(folder / f"{name}.csv", index=False)
        table.to_csv(folder / f"{name}.tsv", index=False, sep="\t")
        table.to_csv(folder / f"{name}.csv.gz", index=False)
        table.to_parquet(folder / f"{name}.parquet")
    common = ["--target", "default", "--id", "id", "--drop", "w"]
    for kind, extra in (("tree", []), ("forest", ["--trees", "5"])):
        path = folder / f"{kind}.model"
        result = run("fit", folder / "train.csv", *common, "--model", kind, "--save", path, *extra)
        assert result.exit_code == 0, result.output
    return folder
