"""Run the benchmarks: ``python -m benchmarks [part] [--quick]``, or all parts."""

import argparse

from benchmarks import (
    attributions,
    boosting,
    check,
    cli,
    cluster,
    cores,
    coverage,
    decisions,
    export,
    focus,
    focus_draws,
    forest,
    forest_choices,
    geometric,
    gpu,
    judging,
    many_levels,
    monitoring,
    noise_levels,
    ordinal,
    papers,
    parquet,
    quality,
    rivals,
    scoring,
    single_tree,
    speed,
    truth,
    versions,
)

PARTS = {
    "attributions": attributions.run,
    "boosting": boosting.run,
    "check": check.run,
    "cli": cli.run,
    "cluster": cluster.run,
    "cores": cores.run,
    "coverage": coverage.run,
    "decisions": decisions.run,
    "export": export.run,
    "focus": focus.run,
    "focus_draws": focus_draws.run,
    "forest": forest.run,
    "forest_choices": forest_choices.run,
    "geometric": geometric.run,
    "gpu": gpu.run,
    "judging": judging.run,
    "many_levels": many_levels.run,
    "monitoring": monitoring.run,
    "noise_levels": noise_levels.run,
    "ordinal": ordinal.run,
    "papers": papers.run,
    "parquet": parquet.run,
    "quality": quality.run,
    "rivals": rivals.run,
    "scoring": scoring.run,
    "single_tree": single_tree.run,
    "speed": speed.run,
    "truth": truth.run,
    "versions": versions.run,
}
# Only when they are named: papers take an hour or two, a check writes no page, and a GPU or an
# environment with another version is seldom at hand.
NAMED_ONLY = ("check", "gpu", "papers", "versions")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "part", nargs="?", choices=PARTS, help="by default all but check, gpu, papers and versions"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small data, to try the code; writes no table"
    )
    arguments = parser.parse_args()
    for name, run in PARTS.items():
        if arguments.part == name or (arguments.part is None and name not in NAMED_ONLY):
            run(arguments.quick)


if __name__ == "__main__":
    main()
