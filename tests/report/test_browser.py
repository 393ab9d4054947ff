"""The report in a real browser: what is dragged, pruned and unfolded shows Python's numbers."""

import re

import numpy as np
import pytest
from report_data import NASTY, grades, loans

from treerank import RankingForest, TreeRank, report
from treerank._report._cells import cell_rows, view_cells
from treerank._report._render import area, number, percent, weight
from treerank._report._roc import cuts_of_cells, cuts_of_sample
from treerank._report._sample import hold_out, read_sample
from treerank._report._strata import step_breaks
from treerank.metrics import wilson_interval
from treerank.scoring import Grades, Points, Scorecard, validate

CUT_IDS = {
    "cut-tp": weight, "cut-fp": weight, "cut-fn": weight, "cut-tn": weight,
    "cut-tpr": percent, "cut-fpr": percent, "cut-precision": percent, "cut-missed": percent,
    "cut-flagged": percent, "cut-approved": percent,
}  # fmt: skip


@pytest.fixture(scope="module")
def tree(data, folder):
    model = TreeRank(max_depth=5, random_state=1).fit(*data[:2])
    report(model, *data[2:], out=folder / "tree.html", train=data[:2], X_new=data[2])
    return model


@pytest.fixture(scope="module")
def forest(data, folder):
    model = RankingForest(n_estimators=10).fit(*data[:2])
    report(model, *data[2:], out=folder / "forest.html")
    return model


@pytest.fixture(scope="module")
def ordinal(folder):
    x, y = grades()
    model = TreeRank(max_depth=4).fit(x[:225], y[:225])
    report(model, x[225:], y[225:], out=folder / "ordinal.html")
    return model


def slide(page, name, value):
    page.locator(f"#{name}").fill(str(value))


def shown_cut(page):
    return {name: page.locator(f"#{name}").inner_text() for name in ["cut-said", *CUT_IDS]}


def said_cut(cuts, i):
    numbers = cuts.numbers(i)
    rule = f"flag rows with a score of at least {number(numbers['score'])}" if i else "flag no row"
    found = {name: say(numbers[name.removeprefix("cut-")]) for name, say in CUT_IDS.items()}
    return {"cut-said": rule} | found


def view_of(model, data):
    return view_cells(model, read_sample(model, *data[2:], None), 0.95)


def cuts_of_step(view, i):
    step = view.steps[i]
    return cuts_of_cells(view.judged[step.leaves], step.scores)


def point_of(page, name):
    return [float(page.locator(f"#{name}").get_attribute(a)) for a in ("cx", "cy")]


def points_of(page, name):
    """Points of a path as rates."""
    d = page.locator(f"#{name}").get_attribute("d")
    points = np.array([[float(v) for v in p.split()] for p in re.split("[ML]", d)[1:]])
    return np.column_stack([(points[:, 0] - 54) / 332, 1 - (points[:, 1] - 12) / 282])


@pytest.mark.parametrize("name", ["forest", "tree"])
def test_the_cut_off_counts_as_python_does(name, visit, data, request):
    model = request.getfixturevalue(name)
    page = visit(name)
    sample = read_sample(model, *data[2:], None)
    cuts = cuts_of_sample(sample)
    if name == "tree":
        cuts = cuts_of_step(view_of(model, data), view_of(model, data).chosen)
    assert shown_cut(page) == said_cut(cuts, cuts.best)
    last = len(cuts.score) - 1
    for i in (0, 1, last // 2, last):
        slide(page, "cutoff", i)
        assert shown_cut(page) == said_cut(cuts, i)
    x, y = point_of(page, "roc-cut")
    assert (x, y) == (386.0, 12.0)


def test_the_cut_off_moves_by_keyboard_and_by_pointer(visit, data, forest):
    page = visit("forest")
    cuts = cuts_of_sample(read_sample(forest, *data[2:], None))
    page.locator("#cutoff").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert shown_cut(page) == said_cut(cuts, 1)
    page.locator("#curve").scroll_into_view_if_needed()
    box = page.locator("#curve").bounding_box()
    scale = box["width"] / 400

    def move(fpr, tpr):
        page.mouse.move(
            box["x"] + scale * (54 + 332 * fpr), box["y"] + scale * (12 + 282 * (1 - tpr))
        )

    i = len(cuts.score) // 2
    move(0.9, 0.1)
    page.mouse.down()
    move(cuts.negative[i] / cuts.negative[-1], cuts.positive[i] / cuts.positive[-1])
    page.mouse.up()
    assert shown_cut(page) == said_cut(cuts, i)
    move(0, 0)
    assert shown_cut(page) == said_cut(cuts, i)


def test_pruning_redraws_strata_curve_and_tree(visit, data, tree):
    page = visit("tree")
    view = view_of(tree, data)
    facts = {row["cell"]: row for row in cell_rows(view, tree, list(data[0].columns))}
    for i in (0, len(view.steps) // 2, len(view.steps) - 1, view.chosen):
        slide(page, "pruning", i)
        step = view.steps[i]
        n = len(step.leaves)
        assert page.locator("#n-strata").inner_text() == f"{n} {'stratum' if n == 1 else 'strata'}"
        assert page.locator("#step-judged").inner_text() == area(step.judged)
        assert page.locator("#step-training").inner_text() == area(step.training)
        assert page.locator("#step-cv").inner_text() == area(step.cross_validated)
        lines = page.locator("#strata-rows tr:visible")
        assert [int(c) for c in lines.evaluate_all("r => r.map(e => e.dataset.cell)")] == (
            step.leaves.tolist()
        )
        breaks = step_breaks(view, step, tree.label_order_)
        found = np.cumsum(view.judged[step.leaves, 1]) / view.judged[0, 1]
        for k, leaf in enumerate(step.leaves.tolist()):
            texts = lines.nth(k).locator("th, td").all_inner_texts()
            fact = facts[leaf]
            assert texts[0] == str(k)
            assert " ".join(texts[1].split()) == " ".join(fact["rule"].split())
            assert texts[2] == weight(view.judged[leaf].sum())
            events, total = view.judged[leaf, 1], view.judged[leaf].sum()
            low, high = wilson_interval(events, total)
            if total:
                assert texts[3].startswith(percent(events / total))
                assert f"{percent(low)} to {percent(high)}" in texts[3]
            assert ("breaks the order" in texts[3]) == (leaf in breaks)
            assert breaks.get(leaf, "") in texts[3]
            assert texts[5] == percent(found[k])
            assert texts[6] == number(step.scores[k])
        cuts = cuts_of_step(view, i)
        curve = np.column_stack([cuts.negative, cuts.positive])
        np.testing.assert_allclose(points_of(page, "roc-curve"), curve / curve[-1], atol=4e-4)
        page.locator("#unfold").click()
        leaves = page.locator(".tree p.cell:visible")
        assert leaves.count() == len(step.leaves)
        ends = leaves.evaluate_all("p => p.map(e => Number(e.parentNode.dataset.cell))")
        assert sorted(ends) == sorted(step.leaves.tolist())
        where = int(page.locator("#cutoff").input_value())
        assert shown_cut(page) == said_cut(cuts, where)
        assert page.locator("#roc-band").is_visible() == (i == view.chosen)
        assert page.locator("#roc-kept").is_visible() == (i != view.chosen)


def test_strata_of_equal_score_are_one_cut_off(visit, folder):
    x = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], 10, axis=0).astype(float)
    y = np.concatenate([[1] * k + [0] * (10 - k) for k in (9, 5, 5, 1)])
    model = TreeRank(max_depth=2, pruning=None, shrinkage=0.0).fit(x, y)
    assert len(model.partition_) == 4
    report(model, x, y, out=folder / "tied.html")
    page = visit("tied")
    for i in (1, 0):
        slide(page, "pruning", i)
    assert page.locator("#strata-rows tr:visible").count() == 4
    assert page.locator("#cutoff").get_attribute("max") == "3"
    slide(page, "cutoff", 2)
    assert shown_cut(page) == said_cut(cuts_of_sample(read_sample(model, x, y, None)), 2)


def test_one_click_goes_back_to_the_model(visit, data, tree):
    page = visit("tree")
    before = page.locator("#strata-rows").inner_text()
    assert not page.locator("#pruning-back").is_visible()
    slide(page, "pruning", 0)
    assert page.locator("#strata-rows").inner_text() != before
    page.locator("#pruning-back").click()
    assert page.locator("#strata-rows").inner_text() == before
    assert page.locator("#step-said").inner_text() == "This is the model."


def test_pruning_keeps_the_cut_off_that_was_set(visit, data, tree):
    page = visit("tree")
    model = view_of(tree, data).chosen
    before = shown_cut(page)
    for way in (len(view_of(tree, data).steps) - 1, 0):
        slide(page, "pruning", way)
        slide(page, "pruning", model)
        assert shown_cut(page) == before
    slide(page, "cutoff", 1)
    before = shown_cut(page)
    slide(page, "pruning", len(view_of(tree, data).steps) - 1)
    page.locator("#pruning-back").click()
    assert shown_cut(page) == before


def test_a_split_that_is_opened_is_marked_on_the_curve(visit, data, tree):
    page = visit("tree")
    page.locator("#fold").click()
    root = page.locator(".tree > li > details > summary")
    root.focus()
    page.keyboard.press("Enter")
    view = view_of(tree, data)
    left = int(view.tree.cells["left"][0])
    fpr, tpr = view.judged[left] / view.judged[0]
    assert point_of(page, "roc-node") == pytest.approx(
        [54 + 332 * fpr, 12 + 282 * (1 - tpr)], abs=0.06
    )
    assert page.locator("#roc-node").is_visible()
    note = page.locator(".tree > li > details > .note").inner_text()
    assert note == f"Split on the ROC curve at FPR {percent(fpr)}, TPR {percent(tpr)}."


def test_ordered_classes_are_pruned_live(visit, ordinal):
    page = visit("ordinal")
    x, y = grades()
    view = view_cells(ordinal, read_sample(ordinal, x[225:], y[225:], None), 0.95)
    for i in (0, view.chosen):
        slide(page, "pruning", i)
        step = view.steps[i]
        assert page.locator("#step-judged").inner_text() == area(step.judged)
        assert page.locator("#strata-rows tr:visible").count() == len(step.leaves)
        ends = points_of(page, "class-2")
        counts = np.cumsum(view.judged[step.leaves], axis=0)
        taken = counts.sum(axis=1) / counts[-1].sum()
        wanted = np.column_stack([taken, counts[:, 2] / counts[-1, 2]])
        np.testing.assert_allclose(ends[-1], [1, 1])
        assert all(np.abs(ends - p).max(axis=1).min() < 4e-4 for p in wanted)


def test_hostile_names_are_shown_as_text(visit, tree):
    page = visit("tree")
    assert page.locator(".importance th.name", has_text=NASTY).count() == 1
    assert page.locator("script").count() == 2


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("tree", 1280, "light"),
        ("tree", 390, "dark"),
        ("forest", 390, "light"),
        ("ordinal", 1280, "dark"),
    ],
)
def test_the_page_is_accessible_and_fits(name, width, scheme, visit, axe_violations, request):
    request.getfixturevalue(name)
    page = visit(name, width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert axe_violations(page) == []


def test_paper_has_what_was_folded_and_no_controls(visit, tree):
    page = visit("tree")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert not page.locator("#cutoff").is_visible()
    assert not page.locator("#lookup").is_visible()
    for part in ("#sign-off", "#gains table", "#calibration table", ".importance", ".summary"):
        whole = page.locator(part).first.evaluate("e => getComputedStyle(e).breakInside")
        assert whole == "avoid", part
    assert page.locator("h2").first.evaluate("e => getComputedStyle(e).breakAfter") == "avoid"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
    assert len(page.pdf(format="A4")) > 20_000


def test_without_scripts_the_model_is_there(visit, data, tree):
    page = visit("tree", java_script_enabled=False)
    assert page.locator("#strata-rows tr:visible").count() == len(tree.partition_)
    assert page.locator("#auc").inner_text() == area(tree.score(*data[2:]))


def test_a_page_of_held_out_rows_is_pruned_live(visit, data, folder):
    model = TreeRank(max_depth=5, random_state=1).fit(*data[:2])
    report(model, train=data[:2], out=folder / "held_out.html")
    sample, _ = hold_out(model, read_sample(model, *data[:2], None), 5, 0)
    view = view_cells(model, sample, 0.95, is_held_out=True)
    page = visit("held_out")
    assert page.locator("#pruning").get_attribute("max") == str(len(view.steps) - 1)
    for i in (len(view.steps) - 1, 0):
        slide(page, "pruning", i)
        step = view.steps[i]
        assert page.locator("#strata-rows tr:visible").count() == len(step.leaves)
        assert page.locator("#step-cv").inner_text() == area(step.cross_validated)
        cuts = cuts_of_step(view, i)
        where = int(page.locator("#cutoff").input_value())
        assert shown_cut(page) == said_cut(cuts, where)
    assert page.locator("#step-judged").count() == 0


@pytest.fixture(scope="module")
def whole(data, folder, tree):
    """A report with every section."""
    x, y = loans(1500, seed=4)
    group = np.where(np.arange(1500) % 5 == 0, NASTY, x["purpose"])
    names = [NASTY, "B", "C", "D"]
    card = Scorecard(tree, grades=Grades(4, names=names), points=Points(), cv="prefit")
    card.fit(*loans(1500, seed=5))
    found = validate(TreeRank(max_depth=2), *data[:2], n_boot=3)
    report(card, x, y, out=folder / "whole.html", train=data[:2], X_new=x, groups=group,
           segments=True, champion=TreeRank(max_depth=1).fit(*data[:2]), appendix=True,
           validation=found)  # fmt: skip


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_page_with_every_section_is_accessible_and_fits(
    whole, visit, axe_violations, width, scheme
):
    page = visit("whole", width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for name in ("grades", "validation", "groups", "segments", "challenge", "appendix"):
        assert page.locator(f"#{name}").is_visible()
        assert page.locator(f'nav a[href="#{name}"]').count() == 1
    assert axe_violations(page) == []


def test_a_page_with_every_section_prints(whole, visit):
    page = visit("whole")
    page.emulate_media(media="print")
    assert len(page.pdf(format="A4")) > 20_000
