"""Entry point of ``python -m treerank`` and of the command ``treerank``."""

import sys


def main() -> None:
    """Run the command line, or print what has to be installed for it."""
    try:
        from treerank.cli import main as run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich", "pyarrow"):
            raise
        print(
            f"treerank: the command line needs {error.name}; pip install 'treerank-ml[cli]'.",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    run()


if __name__ == "__main__":
    main()
