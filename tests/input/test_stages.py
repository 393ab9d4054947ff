"""Seconds by stage, as `verbose=2` prints them."""

import re

import pytest
from samples import noise

from treerank import BoostedTreeRank, RankingForest, TreeRank
from treerank._input import stages

ROADS = {
    "tree": (
        TreeRank(verbose=2),
        ["validate", "bin", "assign folds", "soften the labels", "grow", "count held-out rows",
         "prune", "order the cells"],
    ),
    "forest": (
        RankingForest(n_estimators=4, verbose=2),
        ["validate", "bin", "grow", "score out-of-bag rows"],
    ),
    "boosting": (BoostedTreeRank(3, verbose=2), ["validate", "bin", "grow"]),
    "boosting by pairs": (
        BoostedTreeRank(3, loss="pairwise", verbose=2), ["validate", "bin", "grow", "gradients"]
    ),
    "boosting with a choice": (
        BoostedTreeRank(n_bags=2, n_jobs=2, verbose=2),
        ["validate", "bin", "choose the trees", "grow"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROADS)
def test_verbose_2_prints_every_stage_once_and_they_add_up(name, capsys):
    model, expected = ROADS[name]
    model.fit(*noise(0, 300))
    _, _, table = capsys.readouterr().err.partition("treerank: seconds by stage\n")
    rows = re.findall(r"^  (.+?) +(-?\d+\.\d{3}) +(-?\d+)%$", table, flags=re.MULTILINE)
    names = [row[0] for row in rows]
    assert names == [*expected, "other", "total"]
    seconds = [float(row[1]) for row in rows]
    assert min(seconds) >= 0
    assert sum(seconds[:-1]) == pytest.approx(seconds[-1], abs=0.001 * len(seconds))


def test_less_talkative_fits_print_no_table(capsys):
    TreeRank(verbose=1).fit(*noise(0, 100))
    assert "seconds by stage" not in capsys.readouterr().err


def test_a_stage_outside_of_a_fit_is_nobodys():
    with stages.stage("alone"):
        pass
    with stages.record_stages(0) as seconds:
        for _ in range(2):
            with stages.stage("twice"):
                pass
        assert list(seconds) == ["twice"]


def test_a_stage_inside_another_is_part_of_it():
    with stages.record_stages(0) as seconds:
        with stages.stage("outer"), stages.stage("inner"):
            pass
        with stages.stage("inner"):
            pass
    assert list(seconds) == ["outer", "inner"]
