# Everything runs from a virtual environment in this checkout, made with Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Hundreds of child processes import the same modules: compiled once, whatever the shell has set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo docs test test-quick lint types mutate bench bench-quick soak ci clean

help:
	@echo "make demo    one refused call, corrected, for each local sandbox"
	@echo "make test    all tests                             make test-quick  the quick ones that start no server, for each change"
	@echo "make docs    the documentation site, in build/site"
	@echo "make lint    ruff: rules and format        make types   mypy"
	@echo "make mutate  how many small changes to rules, core and schema the tests notice (MUTANTS of each module)"
	@echo "make bench   speed beside other proxies, in bench.json   make bench-quick  the same in two minutes"
	@echo "make ci      all that CI checks"
	@echo "make soak    ten minutes of mixed traffic, then varied refusals: memory stays flat (CORRIGIBLE_SOAK_SECONDS)"
	@echo "make clean   remove what was built"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	@echo "installing everything into $(VENV): some 1.5 GB, some minutes"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $@

demo: $(READY)
	@$(BIN)/corrigible demo

# Each worker imports all tests, and many of these wait for child processes: one worker more than there are cores.
# A file stays on one worker, with its servers.
WORKERS ?= $(shell expr 1 + $$(getconf _NPROCESSORS_ONLN))

test: $(READY)
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder $(OPTIONS)

QUICK := tests/test_house.py tests/schema tests/client tests/rules tests/adapters tests/proxy/access_log tests/proxy/core \
  tests/proxy/embed tests/proxy/http tests/proxy/recording --ignore tests/rules/packs --ignore tests/adapters/sandbox \
  --ignore-glob '*/test_sandbox.py'

test-quick: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile -m "not slow and not nightly" $(OPTIONS) $(QUICK)

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports .importlinter --no-cache --no-logo

types: $(READY)
	$(BIN)/mypy

mutate: $(READY)
	$(BIN)/python -m tests.mutation.run

bench: $(READY)
	$(BIN)/python -m tests.bench.translation
	$(BIN)/python -m tests.bench.reading
	$(BIN)/python -m tests.bench.worst
	$(BIN)/python -m tests.bench.description
	$(BIN)/python -m tests.bench.index
	$(BIN)/python -m tests.bench.start
	$(BIN)/python -m tests.bench.corrector
	$(BIN)/python -m tests.bench.side_by_side
	$(BIN)/python -m tests.bench.grpc
	$(BIN)/python -m tests.bench.side_by_side.callers
	$(BIN)/python -m tests.bench.storm
	$(BIN)/python -m tests.bench.deaths

bench-quick: $(READY)
	$(BIN)/python -m tests.bench.start --turns 1
	$(BIN)/python -m tests.bench.corrector --turns 1 --seconds 1
	$(BIN)/python -m tests.bench.side_by_side --turns 1 --seconds 1
	$(BIN)/python -m tests.bench.grpc --turns 1 --seconds 0.5
	$(BIN)/python -m tests.bench.side_by_side.callers --turns 1

soak: $(READY)
	$(BIN)/python -m tests.bench.soak

ci:
	.ci/run

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
