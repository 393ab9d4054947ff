# Two commands for a fresh machine: make demo, make test.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

SOURCES := $(shell find src -name '*.?pp')
CORE_TESTS := $(wildcard tests/core/*.?pp)

# Byte code is kept: a dozen processes of tests, and many more that tests start, import the same
# packages, and compiling them anew costs each several seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test suite test-long lint sanitize sanitize-build compilers wheel bench bench-check papers docs stub clean

# Each target has the extras it needs in the environment; a stamp says which are there. Most modules
# of other packages are never imported; Python compiles those that are.
define install
$(VENV)/.$(1)-installed: pyproject.toml CMakeLists.txt $(wildcard cmake/*) $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --no-compile -e '.[$(1)]' $(2)
	touch $$@
endef
$(eval $(call install,demo))
$(eval $(call install,test))
$(eval $(call install,bench))
$(eval $(call install,docs))
# Who works on the code sees every warning; `make WERROR=OFF` for a compiler that has new ones. The
# core is built before other packages are installed, so that the sanitizers' core is built beside
# that; and what builds it stays where it is, so that after a change only the files concerned, and
# those compiled together with them, are compiled again. Ninja asks for the jobs of a make that is
# not its parent: it is told of none.
WERROR ?= ON
define_cmake = --config-settings=cmake.define.TREERANK_$(1)
$(VENV)/.dev-installed: $(VENV)/.core-installed
	$(PIP) install --no-compile 'treerank-ml[dev]'
	touch $@
$(VENV)/.core-installed: pyproject.toml CMakeLists.txt $(wildcard cmake/*) $(SOURCES) | $(VENV)/.tools-installed
	MAKEFLAGS= $(PIP) install --no-compile --no-deps --no-build-isolation -e . \
	  --config-settings=build-dir=build/dev $(call define_cmake,WERROR=$(WERROR)) \
	  $(call define_cmake,PRECOMPILE=ON) $(call define_cmake,SANITIZE=ON)
	touch $@
$(VENV)/.tools-installed:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --no-compile cmake nanobind ninja scikit-build-core setuptools-scm
	touch $@

demo: $(VENV)/.demo-installed
	$(BIN)/python -m treerank._demo demo

# All at once, on two cores: a test that waits for a server, a browser or a cluster leaves its core to
# the linters, to the sanitizers or to a third process of tests. Neighbouring tests, which share what
# is made for them, go to the same process as long as all have some.
test:
	$(MAKE) --no-print-directory -j 3 sanitize suite lint

# Byte code of all that tests import is written once, before several processes do the same.
$(VENV)/.collected: $(VENV)/.dev-installed
	mkdir -p build
	$(BIN)/python -m pytest --collect-only > build/collected.txt || { cat build/collected.txt; exit 1; }
	touch $@

suite: $(VENV)/.collected
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal

# For a night: ten times the examples of each property, and many more odd inputs.
test-long: $(VENV)/.dev-installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 HYPOTHESIS_PROFILE=long TREERANK_FUZZ=5000 \
	  $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(SOURCES) $(CORE_TESTS)
	$(BIN)/mypy
	mkdir -p build
	$(BIN)/python -m nanobind.stubgen -q -m treerank._core -o build/_core.pyi
	diff src/treerank/_core.pyi build/_core.pyi

stub: $(VENV)/.dev-installed
	$(BIN)/python -m nanobind.stubgen -q -m treerank._core -o src/treerank/_core.pyi

# The tests of the core once more, in a build that stops at the first wrong
# access or undefined operation; and its bits, with every instruction set of the processor.
sanitize: sanitize-build $(VENV)/.collected
	for isa in base avx2 avx512; do \
	  TREERANK_ISA=$$isa build/dev/sanitize/core_bits | diff tests/core/expected.txt - || exit 1; done
	PATH=$(abspath $(BIN)):$$PATH sh tests/sanitize.sh build/dev/sanitize

sanitize-build: $(VENV)/.core-installed
	MAKEFLAGS= $(BIN)/cmake --build build/dev --target sanitized

# The core with every compiler that is installed, or with those of ONLY="g++-12 clang++-19".
compilers: $(VENV)/.dev-installed
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python tests/core/compilers.py $(ONLY)

# A source distribution and a wheel made of it, which is tried where there is no compiler.
wheel: $(VENV)/.dev-installed
	PATH=$(abspath $(BIN)):$$PATH sh tests/wheel.sh

bench: $(VENV)/.bench-installed
	$(BIN)/python -m benchmarks

# A minute: the ratios that speed rests on, and how soon Ctrl-C is answered.
bench-check: $(VENV)/.bench-installed
	$(BIN)/python -m benchmarks check

# An hour or two of processor time, on all cores; what is measured is kept, so that a run can be
# broken off and taken up again.
papers: $(VENV)/.bench-installed
	$(BIN)/python -m benchmarks papers $(if $(QUICK),--quick)

docs: $(VENV)/.docs-installed
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf build dist $(VENV) demo docs/_build docs/gallery docs/generated
