# The commands of the project, for people and for CI. Another interpreter: make test PYTHON=.venv/bin/python
PYTHON ?= python
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help install check format test test-nojit bench build

help:  ## list the commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

install:  ## install the package, editable, with the tools of developers
	$(PYTHON) -m pip install -e '.[dev]'

check:  ## format, lint, types, layers
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	PYTHONPATH=src $(PYTHON) -c 'from importlinter.cli import lint_imports_command as lint; lint()'

format:  ## let ruff format and repair
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

test:  ## the tests, compiled (the first run compiles for some minutes)
	$(PYTHON) -m pytest -n $(JOBS) --dist loadgroup

# Plain Python warns of overflow where machine code does not: such warnings are shown, not raised.
test-nojit:  ## the tests in plain Python, without numba's compiler
	NUMBA_DISABLE_JIT=1 $(PYTHON) -m pytest -n $(JOBS) --dist loadgroup \
		-m 'not data and not slow' -W default::RuntimeWarning

bench:  ## the benchmarks of docs/performance.md, and that page; the others in benchmarks/ run by themselves
	for name in step peers scale compile end_to_end report; do $(PYTHON) benchmarks/$$name.py || exit 1; done

build:  ## source distribution and wheel, in dist/
	$(PYTHON) -m build
