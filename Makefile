# Everything runs from a virtual environment in this checkout, made with Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := $(VENV)/.demo
ALL_SCENES := $(VENV)/.demo-all
COMMA := ,
# Hundreds of child processes import the same modules: compiled once, whatever the shell has set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo demo-all docs test test-quick judge learn lint types mutate bench bench-quick soak ci clean

help:
	@echo "make demo    two refused calls, corrected          make demo-all    also on servers that need Node.js or Kubernetes"
	@echo "make test    all tests                             make test-quick  the quick ones that start no server"
	@echo "make judge   recorded servers, in several ways: repaired, asked wrong, harm (OPTIONS: --out --compare --only --runs)"
	@echo "make learn   the weights of evidence, learned from recorded servers, and how often they are right"
	@echo "make docs    the documentation site, in build/site"
	@echo "make lint    ruff: rules and format        make types   mypy"
	@echo "make mutate  how many small changes to rules, core and schema the tests notice (MUTANTS of each module)"
	@echo "make bench   speed beside other proxies, in bench.json   make bench-quick  the same in two minutes"
	@echo "make ci      all that CI checks"
	@echo "make soak    ten minutes of mixed traffic, then varied refusals: memory stays flat (CORRIGIBLE_SOAK_SECONDS)"
	@echo "make clean   remove what was built"

# $(call install,WORDS,WHAT): the same environment, with more in it. A step that waits says so before it does.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	@test -x $(BIN)/python || { echo "making a virtual environment in $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing $(2) into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(1)
endef

# What modules are imported, Python compiles then: to compile all of them would take as long as the rest.
$(DEMO): pyproject.toml
	$(call install,--no-compile --editable '.[demo]',Corrigible with what the demo needs (150 MB))
	@touch $@

$(ALL_SCENES): pyproject.toml
	$(call install,--no-compile --editable '.[demo$(COMMA)sandboxes]',Corrigible$(COMMA) Node.js and etcd (500 MB))
	@touch $@

$(READY): pyproject.toml
	$(call install,--upgrade 'pip>=25.1',pip)
	$(call install,--editable '.[all]' --group dev,Corrigible$(COMMA) all extras and the tools of development (1.4 GB))
	@touch $(DEMO) $(ALL_SCENES) $@

# Prints the seconds and megabytes of a newcomer's first minute.
demo: STARTED := $(shell date +%s)
demo: $(DEMO)
	@$(BIN)/corrigible demo
	@echo "make demo: $$(($$(date +%s) - $(STARTED))) s; $(VENV) has $$(du -sm $(VENV) | cut -f1) MB"

demo-all: $(ALL_SCENES)
	@$(BIN)/corrigible demo --all

# Each worker imports all tests, and many of these wait for child processes: one worker more than there are cores.
# A file stays on one worker, with its servers.
WORKERS ?= $(shell expr 1 + $$(getconf _NPROCESSORS_ONLN))

test: $(READY)
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder $(OPTIONS)

# A third of the CPU seconds: they start processes, or measure steps of large inputs. `make test` has them.
NOT_QUICK := adapters/openapi/test_load.py adapters/openapi/test_bounds.py adapters/openapi/test_swagger2.py \
  adapters/demo client/test_bounds.py client/test_policies.py proxy/core/test_alternative.py proxy/core/test_bounds.py \
  proxy/core/test_forbidden_value.py rules/language/test_cel_bound.py rules/language/test_oracle.py \
  schema/test_content_encoding.py schema/test_extra.py schema/test_generate.py schema/test_stdio.py
QUICK := tests/test_house.py tests/schema tests/client tests/rules tests/adapters tests/proxy/access_log tests/proxy/core \
  tests/proxy/embed tests/proxy/http tests/proxy/recording --ignore tests/rules/packs --ignore tests/adapters/sandbox \
  --ignore-glob '*/test_sandbox.py' $(NOT_QUICK:%=--ignore tests/%)

test-quick: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile -m "not slow and not nightly" $(OPTIONS) $(QUICK)

judge: $(READY)
	@$(BIN)/python -m tests.strangers.gates $(OPTIONS)

learn: $(READY)
	@$(BIN)/python -m tests.strangers.learn

# The site links to the repository that git calls origin, where that is a web address.
docs: export CORRIGIBLE_REPOSITORY ?= $(shell git remote get-url origin 2>/dev/null | sed -n 's/^git@\(.*\):/https:\/\/\1\//; /^https:/p')
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
