# Everything runs in .venv, made on first use from constraints.txt; nothing outside this directory changes.

PYTHON ?= python3
RUN := .venv/bin/python
STAMP := .venv/.installed
SLIM := .venv/.installed-slim
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check

# Images of containers set it; without the .pyc files every worker and child process compiles all sources again.
unexport PYTHONDONTWRITEBYTECODE

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: venv  ## ruff, mypy and, beside them, pytest, as the continuous integration runs them
	@$(MAKE) --no-print-directory --jobs=2 lint tests

tests: venv
	$(RUN) -m pytest

check: venv  ## the inner loop: ruff, mypy and, beside them, the tests of the mathematics and of decisions
	@$(MAKE) --no-print-directory --jobs=2 lint fast

fast: venv
	$(RUN) -m pytest $(addprefix tests/,paper setfunctions losses decomposition operators plans decisions)

lint: venv  ## ruff and mypy only
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

bench: venv  ## the benchmarks; QUICK=1 for the short ones, ONLY=convergence for one part
	$(RUN) -m benchmarks $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

judge: venv  ## random problems judged by enumeration, apart from the tests; CASES=60000
	$(RUN) -m benchmarks.judge --cases $(or $(CASES),60000)

fuzz: venv  ## coverage-guided fuzzing of every reader of files, MINUTES=2 each; READER=csv for one
	@$(RUN) -c 'import atheris' 2> /dev/null || \
	  $(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt --group fuzz
	@for reader in $(or $(READER),arff csv parquet skops); do \
	  echo "$$reader"; $(RUN) fuzz/readers.py $$reader -max_total_time=$$((60 * $(or $(MINUTES),2))) -verbosity=0 || exit 1; done

package: python  ## wheel, sdist and core tests in fresh environments; JOBS="core oldest", PYTHONS="python3.12 python3.13", OUT=dist
	$(RUN) packaging/check.py $(JOBS) $(foreach python,$(PYTHONS),--python $(python)) $(if $(OUT),--out $(OUT))

coverage: venv  ## branch coverage of the package by the whole test suite
	$(RUN) -m pytest --cov --cov-report=term-missing:skip-covered

reproduce: slim  ## the paper's tables and figures and a report on its claims, into results/; FULL=1 for its sizes
	$(RUN) -m experiments reproduce --out results $(if $(FULL),--full)

benchmark: venv  ## label sets, tracks and images on the data sets in DATA (a folder), into results/; ONLY=multilabel for one
	$(foreach kind,$(or $(ONLY),multilabel tracks segmentation),$(RUN) -m experiments $(kind) --data $(DATA) --out results \
	  $(if $(filter multilabel,$(kind)),--pages docs/results) &&) true

docs: venv  ## the documentation with its tutorials, into docs/_build/html; warnings are errors
	OMP_NUM_THREADS=1 $(RUN) -m sphinx -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html"

readme: slim  ## tables of README.md and docs/ made anew from docs/results/, and the map; CHECK=1 compares, also with results/
	PYTHONPATH=tests $(RUN) -m helpers.page_tables results README.md $(addprefix docs/,reproducing.md evidence.md pytorch-evidence.md training.md) \
	  $(if $(CHECK),--check)
	$(if $(CHECK),,PYTHONPATH=tests $(RUN) -m helpers.module_map docs/contributing.md)

# An environment is good if its Python is, if setloss in it is this directory's, and if it is newer than the pins.
HEALTHY := import importlib.util, os.path, sys; found = importlib.util.find_spec("setloss"); \
  sys.exit(not (sys.version_info >= (3, 11) and found and found.origin \
  and os.path.samefile(os.path.dirname(found.origin), "src/setloss")))

# What the tools and all extras need, and what the package with its figures needs: a fifth of it, without PyTorch.
venv: python
	@if [ $(STAMP) -nt constraints.txt ] && [ $(STAMP) -nt pyproject.toml ] \
	  && $(RUN) -c '$(HEALTHY)' 2> /dev/null; then exit 0; fi; \
	set -e; \
	echo "installing setloss, its extras and the tools into .venv: 2 GB, some minutes"; \
	$(INSTALL) 'pip>=25.1' "$$(grep '^torch==' constraints.txt)"; \
	$(INSTALL) -c constraints.txt -e '.[all]' --group dev; \
	touch $(STAMP)

slim: python
	@if [ $(STAMP) -nt pyproject.toml ] || [ $(SLIM) -nt pyproject.toml ] \
	  && $(RUN) -c '$(HEALTHY)' 2> /dev/null; then exit 0; fi; \
	set -e; \
	echo "installing setloss and matplotlib into .venv: 400 MB, about a minute"; \
	$(INSTALL) -c constraints.txt -e '.[plot]'; \
	touch $(SLIM)

python:
	@if $(RUN) -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then exit 0; fi; \
	if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then \
	  echo "setloss needs Python 3.11 or newer, and $(PYTHON) is" \
	    "$$($(PYTHON) --version 2> /dev/null || echo not there); try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	  exit 1; \
	fi; \
	echo "making the virtual environment .venv"; \
	$(PYTHON) -m venv --clear .venv

clean:  ## remove results and caches, but not .venv
	rm -rf results build dist docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help test tests check fast lint bench judge fuzz package coverage reproduce benchmark docs readme venv slim python clean
