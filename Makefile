# Two commands for a fresh machine: make demo, make test.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: demo test lint sanitize bench papers docs stub clean

# Each target has the extras it needs in the environment; a stamp says which are there.
define install
$(VENV)/.$(1)-installed: pyproject.toml CMakeLists.txt $$(wildcard src/core/* src/bindings/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -e '.[$(2)]'
	touch $$@
endef
$(eval $(call install,demo,demo))
$(eval $(call install,test,test))
$(eval $(call install,bench,bench))
$(eval $(call install,docs,docs))
$(eval $(call install,dev,dev))

demo: $(VENV)/.demo-installed
	$(BIN)/python -m treerank._demo demo

test: $(VENV)/.dev-installed lint sanitize
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lint: $(VENV)/.dev-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror src/core/* src/bindings/*
	$(BIN)/mypy
	mkdir -p build
	$(BIN)/python -m nanobind.stubgen -q -m treerank._core -o build/_core.pyi
	diff src/treerank/_core.pyi build/_core.pyi

stub: $(VENV)/.dev-installed
	$(BIN)/python -m nanobind.stubgen -q -m treerank._core -o src/treerank/_core.pyi

# The tests of the core once more, in a build that stops at the first wrong
# access or undefined operation.
sanitize: $(VENV)/.dev-installed
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_BUILD_TYPE=Debug -DTREERANK_SANITIZE=ON \
	  -DPython_EXECUTABLE=$(abspath $(BIN)/python) > /dev/null
	$(BIN)/cmake --build build/sanitize
	PATH=$(abspath $(BIN)):$$PATH sh tests/sanitize.sh build/sanitize

bench: $(VENV)/.bench-installed
	$(BIN)/python -m benchmarks

# An hour or two of one core; what is measured is kept, so that a run can be broken off and taken up
# again.
papers: $(VENV)/.bench-installed
	$(BIN)/python -m benchmarks papers $(if $(QUICK),--quick)

docs: $(VENV)/.docs-installed
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf build $(VENV) demo docs/_build docs/gallery docs/generated
