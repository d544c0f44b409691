# `make demo` and `make test` need nothing but Python, make and a package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test kernels check core mutants bench docs lock clean

demo: $(VENV)/.core
	$(BIN)/whyflag demo

# One process for each core, with one thread each.
test: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n logical

# The numerical tests and the pages once more, under two other kernels of the BLAS.
kernels: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/kernels.py -n logical

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What needs no optional package, in an environment that has none.
core:
	rm -rf $(VENV)-core
	$(PYTHON) -m venv $(VENV)-core
	$(VENV)-core/bin/python -m pip --disable-pip-version-check install --quiet --constraint requirements.lock .
	$(VENV)-core/bin/python tests/without_extras.py
	rm -rf $(VENV)-core

# The documentation as a site, in site/; links and references that lead nowhere are errors.
docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict --quiet

# Which small wrong changes of the numerical core no test notices: docs/design/tests.md.
mutants: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.mutants

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# The environment is made anew only when a file it is made from is newer.
$(VENV)/.core: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint requirements.lock --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core paper/pyproject.toml
	$(PIP) install --quiet --requirement requirements.lock --editable . --editable ./paper
	touch $@

# Newest versions that fit together. PyTorch is pinned by hand: an unpinned one pulls gigabytes.
lock:
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-lock/bin/python -m pip install --quiet --group dev '.[shap,torch,pyod,plot,parquet]' ./paper torch==2.13.0
	$(VENV)-lock/bin/python -m pip freeze --exclude whyflag --exclude whyflag-paper | sed 's/+cpu$$//' > requirements.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) .coverage .hypothesis .import_linter_cache .mutants.json .mypy_cache .pytest_cache .ruff_cache
