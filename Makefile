# Every target sets up what it needs in .venv; a second call skips what is done.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LOWEST := .venv-lowest
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help reproduce studio test fuzz test-bounds coverage test-lowest test-engines test-service lint format signatures bench docs clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp per set of extras: $(VENV)/.has-test means lastswitch[test] is installed.
$(VENV)/.has-%: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing lastswitch[$*] into $(VENV) ..."
	@$(PIP) -e '.[$*]'
	@touch $@

$(VENV)/.has-base: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing lastswitch into $(VENV) ..."
	@$(PIP) -e .
	@touch $@

$(VENV)/.has-engines: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing lastswitch[test,ray,dask,spark] into $(VENV) ..."
	@$(PIP) -e '.[test,ray,dask,spark]'
	@touch $@

$(VENV)/.has-service: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing lastswitch[test,browser] into $(VENV) ..."
	@$(PIP) -e '.[test,browser]'
	@touch $@

reproduce: $(VENV)/.has-base  ## the paper's figures and tables, and ours, into results/
	$(BIN)/lastswitch reproduce --out results

studio: $(VENV)/.has-serve $(VENV)/.has-logs  ## the service and its page on a demo station, on loopback
	$(BIN)/lastswitch serve --demo

test: $(VENV)/.has-test  ## every test that needs no cluster engine
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup

fuzz: $(VENV)/.has-test  ## random problems against plain references, a minute for each kind
	PYTHONPATH=tests $(BIN)/python -W ignore -m fuzz
	LASTSWITCH_FUZZ=1000 $(BIN)/python -m pytest -q tests/test_fuzzed_files.py

test-bounds: $(VENV)/.has-test  ## tests of all that is compiled, with every place checked
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -q -n 2 --dist loadgroup \
		tests/planning tests/rules tests/learning tests/logs tests/cohorts tests/model/test_blocks.py

coverage: $(VENV)/.has-test  ## make test, and which lines and branches it ran
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup --cov

test-engines: $(VENV)/.has-engines  ## tests on real Ray, Dask and Spark
	$(BIN)/python -m pytest -q -m engines --disable-warnings tests

test-service: $(VENV)/.has-service  ## tests of the service on real PostgreSQL and in Chromium
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || \
		{ echo "PostgreSQL is not there; get it with: apt-get install postgresql"; exit 1; }
	@test -n "$$CHROMIUM" || command -v chromium > /dev/null || command -v google-chrome > /dev/null || \
		{ echo "Chromium is not there; get it with: apt-get install chromium"; exit 1; }
	$(BIN)/python -m pytest -q -m service --disable-warnings tests/service

test-lowest:  ## the tests on the lowest versions we allow, in an environment of their own
	@test -d $(LOWEST) || $(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--only-binary :all: -c constraints-lowest.txt hatchling editables
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--only-binary :all: --no-build-isolation -c constraints-lowest.txt -e '.[test]'
	$(LOWEST)/bin/python -m pytest -q -n 2 --dist loadgroup --disable-warnings

lint: $(VENV)/.has-test  ## formatting, lint, types, and who imports whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.has-test  ## rewrite formatting and fixable lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

signatures: $(VENV)/.has-test  ## write down public names and signatures after a change meant to be
	$(BIN)/python tests/public_signatures.py

bench: $(VENV)/.has-test $(VENV)/.has-bench  ## all benchmarks, side by side, as ratios
	$(BIN)/python -m benchmarks

docs: $(VENV)/.has-test $(VENV)/.has-docs  ## the documentation site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:  ## remove what the other targets made
	rm -rf $(VENV) $(LOWEST) site results .pytest_cache .mypy_cache .ruff_cache
