"""Tables as text files, for the tests of the commands."""

import numpy as np
import pyarrow as pa


def write(path, rows, encoding="utf8", delimiter=",", quote=False):
    """Write rows of text as CSV."""
    lines = [delimiter.join(f'"{v}"' if quote else str(v) for v in row) for row in rows]
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def text(*values):
    return pa.chunked_array([pa.array(values, pa.string())])


def sample(n=120, seed=0):
    """Return a number that ranks, one that does not, and labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(2)
    return x, rng.normal(size=n).round(2), (x + rng.normal(size=n) > 0).astype(int)
