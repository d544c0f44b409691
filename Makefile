# `make demo` and `make test` need nothing but Python, make and a package registry.
PYTHON ?= python3
VENV := .venv
# Another Python has an environment of its own: `make test PYTHON=python3.13` makes .venv-3.13.
ifneq ($(PYTHON),python3)
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
EXTRAS := shap,torch,pyod,plot,parquet,fast,excel,sql
# Pinned by hand: an unpinned one pulls gigabytes.
TORCH := torch==2.13.0
# Tests run in one process for each core, with one thread each.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test kernels check core lowest newest mutants fuzz bench docs lock clean

demo: $(VENV)/.core
	$(BIN)/whyflag demo

test: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -n logical --cov

# The numerical tests and the pages once more, under two other kernels of the BLAS.
kernels: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python tests/kernels.py -n logical

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

# The lowest versions that both pyproject.toml allow, but for PyTorch. The pages are left out: they
# show what newer versions print. So are warnings of what newer versions will remove.
lowest:
	rm -rf $(VENV)-lowest
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check install --quiet uv
	printf 'torch\nwhyflag\n' > $(VENV)-lowest/excluded.txt
	$(VENV)-lowest/bin/uv pip compile --quiet --resolution lowest-direct --all-extras \
	  --excludes $(VENV)-lowest/excluded.txt --python $(VENV)-lowest/bin/python \
	  --output-file $(VENV)-lowest/lowest.txt pyproject.toml paper/pyproject.toml
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check install --quiet \
	  --requirement $(VENV)-lowest/lowest.txt --editable . --editable ./paper $(TORCH) \
	  captum hypothesis polars pytest pytest-xdist
	$(ONE_THREAD) $(VENV)-lowest/bin/python -m pytest -n logical --ignore tests/test_docs.py \
	  -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning
	rm -rf $(VENV)-lowest

# The newest versions that there are, but for PyTorch.
newest:
	rm -rf $(VENV)-newest
	$(PYTHON) -m venv $(VENV)-newest
	$(VENV)-newest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-newest/bin/python -m pip install --quiet --group dev --editable '.[$(EXTRAS)]' --editable ./paper $(TORCH)
	$(ONE_THREAD) $(VENV)-newest/bin/python -m pytest -n logical
	rm -rf $(VENV)-newest

# The documentation as a site, in site/; links and references that lead nowhere are errors.
docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict --quiet

# Which small wrong changes of the numerical core no test notices: docs/design/tests.md.
mutants: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m tests.mutants

fuzz: $(VENV)/.dev
	WHYFLAG_FUZZ_CASES=20000 $(BIN)/pytest -s tests/table/test_fuzzing.py

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

# Newest versions that fit together.
lock:
	rm -rf $(VENV)-lock
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(VENV)-lock/bin/python -m pip install --quiet --group dev '.[$(EXTRAS)]' ./paper $(TORCH)
	$(VENV)-lock/bin/python -m pip freeze --exclude whyflag --exclude whyflag-paper | sed 's/+cpu$$//' > requirements.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf .venv .venv-* .coverage .hypothesis .import_linter_cache .mutants .mypy_cache .pytest_cache .ruff_cache
