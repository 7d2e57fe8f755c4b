# Every target makes its own set-up: a virtual environment in .venv with what pyproject.toml names.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
  if $$p -c 'import sys; raise SystemExit(sys.version_info[:2] < (3, 11))' 2>/dev/null; then echo $$p; break; fi; done)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
DEMO ?= .demo
FUZZ_SECONDS ?= 60

.PHONY: help setup demo test check format golden schema docs notebooks bench fuzz clean

help: ## what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "samework needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[stats,notebooks,dev]'
	@touch $@

setup: $(READY) ## the virtual environment

demo: $(READY) ## the fixtures through everything, ending with a report to open
	$(BIN)/samework demo $(DEMO)

test: $(READY) ## all tests; with COVERAGE=1 also what they cover, which takes half as long again
	$(BIN)/python -m pytest --numprocesses 2 --dist loadscope \
	  $(if $(COVERAGE),--cov=samework --cov-report=term:skip-covered)

check: $(READY) ## format, lint, types, direction of imports, schema and docs drift
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q tests/contracts
	$(BIN)/python docs/make_commands.py --check
	$(BIN)/python docs/make_formats.py --check

format: $(READY) ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: $(READY) ## write the golden files anew; read the difference before you commit it
	SAMEWORK_GOLDEN=write $(BIN)/python -m pytest -q tests/golden

schema: $(READY) ## write schema/ and docs/schema.md anew from the tables and records
	$(BIN)/python -m samework.store.schema_dump

docs: $(READY) ## write the pages of the commands and the table of formats anew
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_formats.py

notebooks: $(READY) ## run the notebooks from a clean kernel and write their outputs; look at the pictures
	$(BIN)/python notebooks/run.py

bench: $(READY) ## speed and memory, as ratios; minutes
	@for each in $(filter-out bench/fuzz.py,$(wildcard bench/*.py)); do echo "== $$each"; $(BIN)/python $$each || exit 1; done

fuzz: $(READY) ## look for bytes that break a reader or parser: FUZZ_SECONDS for each, the faults go to tests/fuzz/corpus
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]' || echo "atheris is not for this Python"
	$(BIN)/python bench/fuzz.py --seconds $(FUZZ_SECONDS)

clean: ## remove what was made
	rm -rf $(VENV) $(DEMO) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
