#!/bin/sh
# Run the tests of the core against the build in $1, which has the sanitizers in it.
set -eu
build=$(cd "$1" && pwd)
copy="$build/package"
# Files without such tests need not even be imported.
files=$(grep -rl 'mark\.core' --include='test_*.py' tests | sort)
rm -rf "$copy"
mkdir -p "$copy"
# With the times that byte code goes by; without byte code that another process is writing.
(cd src && find treerank -type f ! -name '*.pyc.*' -print0 | tar -c --null -T - -f -) |
    tar -x -C "$copy" -f -
rm -f "$copy"/treerank/_core*.so
cp "$build"/_core*.so "$copy/treerank/"
# The environment's own install of treerank must not be found first.
libraries=$(python -c "import sysconfig; print(sysconfig.get_paths()['purelib'])")
environment=$(python -c "import sys; print(sys.prefix)")
mkdir -p "$build/libraries"
set --
for entry in "$libraries"/*; do
    case "${entry##*/}" in
        *.dist-info) set -- "$@" "$entry" ;;
        *treerank*) ;;
        *) set -- "$@" "$entry" ;;
    esac
done
ln -sfn "$@" "$build/libraries"
# Without its site module Python does not know its environment, and Hypothesis, which reads the
# constants in all modules but installed ones, would read those of every library.
run_pytest='import runpy, sys
sys.prefix = sys.exec_prefix = sys.argv.pop(1)
runpy.run_module("pytest", run_name="__main__", alter_sys=True)'
# Python itself leaks on exit, and NumPy and friends are not instrumented. What a sanitizer says
# before it stops the process is not captured. A short stack for each allocation, and less memory
# that waits after it was freed, halve the time. One process: to import and collect everything once
# more would cost as much as a fifth of the tests.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so)" \
ASAN_OPTIONS=detect_leaks=0:malloc_context_size=4:quarantine_size_mb=16 \
UBSAN_OPTIONS=print_stacktrace=1 TREERANK_FUZZ=300 \
PYTHONPATH="$copy:$build/libraries" HYPOTHESIS_PROFILE=quick TREERANK_CORE="$copy/treerank" \
    python -S -c "$run_pytest" "$environment" $files -m "core and not not_sanitized" \
    -k "not ctrl_c" --capture=sys -p no:cacheprovider
