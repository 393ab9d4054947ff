"""Run the benchmarks: ``python -m benchmarks [part] [--quick]``, or all parts."""

import argparse
from importlib import import_module

PARTS = (
    "attributions", "bags", "boosting", "cli", "cluster", "codings", "cores", "coverage",
    "decisions", "export", "few_rows", "focus", "focus_draws", "forest", "forest_choices",
    "geometric", "judging", "many_levels", "monitoring", "noise_levels", "ordinal", "parquet",
    "plan_race", "quality", "rivals", "scoring", "single_tree", "soft_labels", "speed", "truth",
    "voting",
)  # fmt: skip
# Only when they are named: papers take an hour or two, a check writes no page, and a GPU or an
# environment with another version is seldom at hand.
NAMED_ONLY = ("check", "gpu", "papers", "versions")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "part", nargs="?", choices=sorted(PARTS + NAMED_ONLY),
        help="by default all but check, gpu, papers and versions",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="small data, to try the code; writes no table"
    )
    arguments = parser.parse_args()
    for name in PARTS if arguments.part is None else [arguments.part]:
        # A part that is not run need not be importable: few machines have every package.
        import_module(f"benchmarks.{name}").run(arguments.quick)


if __name__ == "__main__":
    main()
