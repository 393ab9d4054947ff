// Moves the cut-off, prunes the tree, unfolds it and looks rows up. All text is set as text, never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const percent = (v) => (v === null ? "–" : `${(100 * v).toFixed(1)}%`);
  const weight = (v) => v.toLocaleString("en-US", { maximumFractionDigits: 1 });
  const digits = (v, n) => (v === null ? "–" : String(Number(v.toPrecision(n))));
  const say = (id, text) => {
    if (at(id)) at(id).textContent = text;
  };
  const show = (element, on) => {
    if (element) element.hidden = !on;
  };
  const { box, tree } = data;
  const x = (v) => (box.x + box.w * v).toFixed(1);
  const y = (v) => (box.y + box.h * (1 - v)).toFixed(1);
  const path = (points) => "M" + points.map(([a, b]) => `${x(a)} ${y(b)}`).join("L");
  const place = (id, [a, b]) => {
    at(id).setAttribute("cx", x(a));
    at(id).setAttribute("cy", y(b));
  };
  const sum = (values) => values.reduce((a, b) => a + b, 0);

  // Cumulated class counts of strata, best first; those of equal score stay together.
  function cumulate(step, counts) {
    const sums = [data.classes.map(() => 0)];
    const score = [null];
    step.leaves.forEach((leaf, i) => {
      const last = sums[sums.length - 1];
      const next = last.map((v, k) => v + counts[leaf][k]);
      if (score[score.length - 1] === step.scores[i]) sums[sums.length - 1] = next;
      else {
        sums.push(next);
        score.push(step.scores[i]);
      }
    });
    return { score, sums };
  }

  const rates = ({ sums }) => {
    const total = sums[sums.length - 1];
    return sums.map((s) => s.map((v, k) => v / total[k]));
  };

  // The cut-off. Pruning leaves fewer of them or more, and goes to the one nearest to what was set by hand.
  let cuts = data.cuts;
  let wanted = cuts && rateOf(Number(at("cutoff").value));

  function rateOf(i) {
    const n = cuts.score.length - 1;
    return [cuts.negative[i] / cuts.negative[n], cuts.positive[i] / cuts.positive[n]];
  }

  function nearest([fpr, tpr]) {
    const away = cuts.score
      .map((_, i) => rateOf(i))
      .map(([a, b]) => (a - fpr) ** 2 + (b - tpr) ** 2);
    return away.indexOf(Math.min(...away));
  }

  function drawCut(i) {
    const n = cuts.score.length - 1;
    const [negatives, positives] = [cuts.negative[n], cuts.positive[n]];
    const [fp, tp] = [cuts.negative[i], cuts.positive[i]];
    const [flagged, total] = [fp + tp, negatives + positives];
    const score = digits(cuts.score[i], 4);
    say("cut-said", i ? `flag rows with a score of at least ${score}` : "flag no row");
    at("cutoff").value = i;
    at("cutoff").setAttribute("aria-valuetext", i ? `score ${score}` : "no row flagged");
    say("cut-tp", weight(tp));
    say("cut-fp", weight(fp));
    say("cut-fn", weight(positives - tp));
    say("cut-tn", weight(negatives - fp));
    say("cut-tpr", percent(tp / positives));
    say("cut-fpr", percent(fp / negatives));
    say("cut-precision", percent(flagged ? tp / flagged : null));
    say("cut-missed", percent(flagged < total ? (positives - tp) / (total - flagged) : null));
    say("cut-flagged", percent(flagged / total));
    say("cut-approved", percent(1 - flagged / total));
    place("roc-cut", rateOf(i));
  }

  function rateUnder(event) {
    const svg = at("curve");
    const point = new DOMPoint(event.clientX, event.clientY);
    const { x: px, y: py } = point.matrixTransform(svg.getScreenCTM().inverse());
    return [(px - box.x) / box.w, 1 - (py - box.y) / box.h];
  }

  function setCut(i) {
    wanted = rateOf(i);
    drawCut(i);
  }

  if (cuts) {
    at("cutoff").addEventListener("input", (event) => setCut(Number(event.target.value)));
    at("curve").addEventListener("pointerdown", (event) => {
      at("curve").setPointerCapture(event.pointerId);
      setCut(nearest(rateUnder(event)));
    });
    at("curve").addEventListener("pointermove", (event) => {
      if (at("curve").hasPointerCapture(event.pointerId)) setCut(nearest(rateUnder(event)));
    });
  }

  // Pruning: which cells are strata, in which order.
  function drawCurve(step, isModel) {
    const judged = cumulate(step, tree.judged);
    const shares = rates(judged);
    if (!cuts) {
      const total = sum(judged.sums[judged.sums.length - 1]);
      data.classes.forEach((_, k) => {
        const points = shares.map((s, i) => [sum(judged.sums[i]) / total, s[k]]);
        at(`class-${k}`).setAttribute("d", path(points));
      });
      return;
    }
    at("roc-curve").setAttribute("d", path(shares));
    at("roc-training").setAttribute("d", path(rates(cumulate(step, tree.training))));
    at("roc-band").style.visibility = isModel ? "visible" : "hidden";
    at("roc-kept").style.visibility = isModel ? "hidden" : "visible";
    show(at("band-key"), isModel);
    show(at("kept-key"), !isModel);
    cuts = {
      score: judged.score,
      negative: judged.sums.map((s) => s[0]),
      positive: judged.sums.map((s) => s[1]),
    };
    at("cutoff").max = cuts.score.length - 1;
    drawCut(nearest(wanted));
  }

  const rowOf = new Map();
  document.querySelectorAll("#strata-rows tr").forEach((row) => rowOf.set(row.dataset.cell, row));

  function drawStrata(step) {
    rowOf.forEach((row) => show(row, false));
    const top = data.classes.length - 1;
    const total = sum(step.leaves.map((leaf) => tree.judged[leaf][top]));
    let found = 0;
    step.leaves.forEach((leaf, i) => {
      const row = rowOf.get(String(leaf));
      found += tree.judged[leaf][top];
      row.querySelector(".place").textContent = i;
      row.querySelector(".cell-score").textContent = digits(step.scores[i], 4);
      if (row.querySelector(".found")) {
        row.querySelector(".found").textContent = percent(found / total);
      }
      const broken = row.querySelector(".break");
      broken.textContent = step.breaks[leaf] || "";
      show(broken, leaf in step.breaks);
      show(row, true);
      row.parentNode.append(row);
    });
  }

  function drawTree(step) {
    const splits = new Set();
    step.leaves.forEach((leaf) => {
      for (let cell = tree.parent[leaf]; cell >= 0; cell = tree.parent[cell]) splits.add(cell);
    });
    document.querySelectorAll(".tree li").forEach((item) => {
      const details = item.querySelector(":scope > details");
      if (!details) return;
      const isSplit = splits.has(Number(item.dataset.cell));
      show(details, isSplit);
      show(item.querySelector(":scope > p.cell"), !isSplit);
    });
  }

  const strata = (n) => (n === 1 ? "1 stratum" : `${n} strata`);

  function prune(i) {
    const step = tree.steps[i];
    const isModel = i === tree.chosen;
    say("n-strata", strata(step.leaves.length));
    at("pruning").setAttribute("aria-valuetext", strata(step.leaves.length));
    say("step-judged", step.judged.toFixed(4));
    say("step-training", step.training.toFixed(4));
    if (step.cv !== null) {
      say("step-cv", step.cv.toFixed(4));
      say("step-error", step.error.toFixed(4));
    }
    const model = strata(tree.steps[tree.chosen].leaves.length);
    say("step-said", isModel ? "This is the model." : `The model has ${model}.`);
    show(at("pruning-back"), !isModel);
    drawCurve(step, isModel);
    drawStrata(step);
    drawTree(step);
  }

  if (tree && at("pruning")) {
    at("pruning").addEventListener("input", (event) => prune(Number(event.target.value)));
    at("pruning-back").addEventListener("click", () => {
      at("pruning").value = tree.chosen;
      prune(tree.chosen);
      at("pruning").focus();
    });
  }

  // The tree: the split that was opened last is marked on the curve.
  if (tree) {
    const all = [...document.querySelectorAll(".tree details")];
    const setAll = (open) => all.forEach((details) => (details.open = open));
    at("unfold").addEventListener("click", () => setAll(true));
    at("fold").addEventListener("click", () => setAll(false));
    document.querySelector(".tree").addEventListener("click", (event) => {
      const summary = event.target.closest("summary");
      if (!summary || !at("roc-node")) return;
      const item = summary.closest("li");
      place("roc-node", tree.point[item.dataset.cell]);
      at("roc-node").style.visibility = summary.parentNode.open ? "hidden" : "visible";
    });
  }

  // Rows by id or number.
  function element(tag, text) {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  }

  function listed(title, items) {
    if (!items || !items.length) return [];
    const list = document.createElement("ul");
    items.forEach((item) => list.append(element("li", item)));
    return [element("p", title), list];
  }

  function describe(row) {
    const { total, n_strata: strata } = data.lookup;
    const name = row.id === undefined ? `Row ${row.row}` : `${row.id} (row ${row.row})`;
    const stratum = row.stratum === undefined ? "" : `, stratum ${row.stratum} of 0 to ${strata - 1}`;
    const place = `place ${weight(row.rank)} of ${weight(total)}`;
    return [
      element("h4", name),
      element("p", `Score ${digits(row.score, 4)}, ${place}${stratum}, actual: ${row.label}.`),
      ...listed("What moved it up", row.up),
      ...listed("What moved it down", row.down),
    ];
  }

  function lookUp(key) {
    const rows = data.lookup.rows;
    const byId = rows.filter((row) => row.id === key);
    const hits = byId.length ? byId : rows.filter((row) => String(row.row) === key);
    if (hits.length) return hits.flatMap(describe);
    return [element("p", `${key} is not among the ${weight(rows.length)} rows that this file holds.`)];
  }

  if (data.lookup) {
    show(at("lookup"), true);
    at("lookup").addEventListener("submit", (event) => {
      event.preventDefault();
      const key = at("lookup-key").value.trim();
      at("lookup-found").replaceChildren(...(key ? lookUp(key) : []));
    });
  }

  // On paper nothing can be unfolded.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((details) => (details.open = true));
  });
  window.addEventListener("afterprint", () => folded.forEach((details) => (details.open = false)));
})();
