"""Calls zig's C++ compiler, which writes the levels of x86-64 with underscores."""

import subprocess
import sys

if __name__ == "__main__":
    words = [word.replace("-march=x86-64-v", "-march=x86_64_v") for word in sys.argv[1:]]
    sys.exit(subprocess.call([sys.executable, "-m", "ziglang", "c++", *words]))
