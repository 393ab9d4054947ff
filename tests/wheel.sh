#!/bin/sh
# Make a source distribution and a wheel of it, and try the wheel where there is no compiler. What
# is left in dist/ can be given away: on Linux the wheel is repaired, so that it runs on other
# distributions than this one.
set -eu
rm -rf build/dist build/smoke dist
python -m build --outdir build/dist .
mkdir -p dist
if [ "$(uname)" = Linux ]; then
    auditwheel repair --wheel-dir dist build/dist/*.whl
else
    cp build/dist/*.whl dist/
fi
cp build/dist/*.tar.gz dist/
for wheel in dist/*.whl; do
    size=$(wc -c < "$wheel")
    echo "$wheel: $size bytes"
    test "$size" -lt 5000000
done

python -m venv build/smoke
tools="$PWD/build/smoke/bin"
env -i PATH="$tools" HOME="$PWD/build/smoke" PIP_CONFIG_FILE="${PIP_CONFIG_FILE:-}" \
    "$tools/python" -m pip --disable-pip-version-check install -q --only-binary :all: dist/*.whl
env -i PATH="$tools" "$tools/python" tests/smoke.py
