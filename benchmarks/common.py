"""What every benchmark shares: timing, the machine in words, targets, tables and files."""

import hashlib
import json
import math
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import joblib

import treerank
from treerank import _core

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CACHE = RESULTS / "cache"
PAGES = ROOT / "docs" / "results"


class Times(NamedTuple):
    """Wall-clock and processor seconds of one call."""

    wall: float
    cpu: float


def best_times(calls: dict[str, Callable[[], Any]], repetitions: int) -> dict[str, Times]:
    """Least seconds of each call.

    The calls take turns, so that a busy spell of the machine meets all of them; what others do on
    the machine only ever adds time, so that the least of several is the best estimate. A long call
    never finds as calm a moment as a short one: on one thread compare processor seconds.
    """
    best = dict.fromkeys(calls, Times(math.inf, math.inf))
    for _ in range(repetitions):
        for name, call in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            took = Times(time.perf_counter() - wall, time.process_time() - cpu)
            best[name] = Times(*map(min, best[name], took))
    return best


def resident_bytes(field: str) -> int:
    """Bytes by the kernel's account of this process, of VmRSS now or of the peak VmHWM.

    Unlike ru_maxrss it starts afresh at exec.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(x.split()[1]) * 1024 for x in lines if x.startswith(field))


@dataclass(frozen=True)
class Figure:
    """One measured number and what it should be; `bound` says on which side of the target."""

    what: str
    value: float
    unit: str = ""
    target: float | None = None
    bound: Literal["at least", "at most"] = "at most"
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target."""
        if self.target is None:
            return None
        if self.bound == "at least":
            return self.value >= self.target
        return self.value <= self.target

    @property
    def cells(self) -> list[str]:
        """The figure as a row of `figure_table`."""
        unit = f" {self.unit}" if self.unit else ""
        target = "" if self.target is None else f"{self.bound} {self.target:g}{unit}"
        verdict = {None: "", True: "met", False: "**missed**"}[self.met]
        return [self.what, f"{_short(self.value)}{unit}", target, verdict, self.note]


def _short(value: float) -> str:
    """Three digits that count, without an exponent."""
    if value >= 100 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".")


def figure_table(figures: Iterable[Figure]) -> str:
    """Markdown table of figures, with targets and verdicts where some have a target."""
    found = list(figures)
    if all(figure.target is None for figure in found):
        rows = [[figure.cells[0], figure.cells[1], figure.note] for figure in found]
        return markdown_table(["what", "measured", "remark"], rows, "lrl")
    header = ["what", "measured", "target", "verdict", "remark"]
    return markdown_table(header, [figure.cells for figure in found], "lrrll")


def targets_met(figures: Iterable[Figure]) -> str:
    """Say how many targets are met: the sentence that follows the question of a page."""
    verdicts = [figure.met for figure in figures if figure.met is not None]
    if all(verdicts):
        return (
            f"All {len(verdicts)} targets are met." if len(verdicts) > 1 else "The target is met."
        )
    return f"{sum(verdicts)} of {len(verdicts)} targets are met."


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], align: str) -> str:
    """Markdown table; `align` has an l or r for each column."""
    rules = [{"l": "---", "r": "---:"}[side] for side in align]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rules, *rows])


def machine() -> dict[str, Any]:
    """Name what the figures depend on besides the code."""
    libraries = ["numpy", "scipy", "scikit-learn", "pandas"]
    return {
        "processor": _processor(),
        "cores": joblib.cpu_count(),
        "instruction set": _core.instruction_set(),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {name: version(name) for name in ["treerank-ml", *libraries]},
        "load before the run": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), "unknown")


def describe(facts: dict[str, Any], command: str) -> str:
    """Machine and command, for the end of a page."""
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    load = facts["load before the run"]
    busy = (
        ", so that times on several threads are longer than on an idle machine" if load > 1 else ""
    )
    return (
        f"Machine: {facts['processor']}, {facts['cores']} cores, instruction set "
        f"{facts['instruction set']}; {facts['system']}; {versions}. "
        f"Load average before the run: {load}{busy}.{facts.get('remark', '')}\n\n"
        f"Command: `{command}`"
    )


def fingerprint(part: str = "") -> str:
    """Key of the installed treerank, so that results of older code are not taken for new ones.

    `part` names a folder of it that a study depends on alone.
    """
    digest = hashlib.sha256()
    files = (Path(treerank.__file__).parent / part).rglob("*.py")
    for path in [*sorted(files), Path(_core.__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def remember(key: str, compute: Callable[[], Any]) -> Any:
    """Return the result of `compute`, from the cache if an earlier run got as far."""
    path = CACHE / f"{key}.json"
    if path.is_file():
        return json.loads(path.read_text())
    result = compute()
    CACHE.mkdir(parents=True, exist_ok=True)
    # Whole or not at all, should the run be broken off here.
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(result))
    unfinished.replace(path)
    return result


# The figures of one part of a study, and its table.
Part = tuple[list[Figure], str]


def remember_part(key: str, compute: Callable[[], Part]) -> Part:
    """Return what `remember` does, for figures and their table."""

    def as_json() -> Any:
        figures, table = compute()
        return [[asdict(figure) for figure in figures], table]

    figures, table = remember(key, as_json)
    return [Figure(**figure) for figure in figures], table


def machine_last(page: str) -> str:
    """Put machine and command, with which pages are made, behind what readers come for."""
    found = re.search(r"^Machine: .*\n\nCommand: .*\n\n(?=.)", page, re.MULTILINE)
    if found is None:  # nothing follows them
        return page
    rest = page[: found.start()] + page[found.end() :].rstrip("\n")
    return f"{rest}\n\n## Where it was measured\n\n{found[0].rstrip()}\n"


def publish(name: str, page: str, figures: list[Figure], details: dict[str, Any]) -> None:
    """Write the page and the JSON of a benchmark."""
    record = {"figures": [asdict(f) | {"met": f.met} for f in figures], **details}
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (PAGES / f"{name}.md").write_text(machine_last(page))
