# The first two are all a fresh clone needs: `make demo`, `make test`. Every target sets up what it needs.
VENV := .venv
BIN  := $(VENV)/bin
PIP  := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install --quiet --require-hashes --no-compile
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: setup demo test check check-full lint types docs screenshots conformance bench example lock

$(BIN)/remit: requirements.lock pyproject.toml
	@echo "setting up $(VENV) (once)"
	@scripts/node-tools & node=$$!; $(or $(PYTHON),python3) -m venv $(VENV) && $(PIP) -r requirements.lock \
	  && $(BIN)/pip install --quiet --no-build-isolation --no-deps --editable . && wait $$node && touch $@

$(VENV)/.dev: $(BIN)/remit requirements-dev.lock
	@echo "adding what the tests need (once)"
	@$(PIP) -r requirements-dev.lock && scripts/node-tools all
	@scripts/debian chromium "no browser tests" chromium fonts-dejavu-core && scripts/debian nginx "no tests behind nginx" nginx-light && touch $@

setup: $(VENV)/.dev            ## everything for development

demo: $(BIN)/remit             ## the main job on real input; ONCE=1 ends by itself
	@remit demo $(if $(ONCE),--once)

test: $(VENV)/.dev             ## the tests, with branch coverage
	@scripts/test

lint: $(VENV)/.dev             ## format, lint, import contracts, dead code, dependencies
	@ruff format --check . && ruff check . && lint-imports && vulture && deptry src

types: $(VENV)/.dev            ## pyright, strict
	@pyright

docs: $(VENV)/.dev             ## every snippet and command in the docs, run
	@pytest -q tests/docs

screenshots: $(VENV)/.dev      ## every page of the console, light and dark, into docs/images/console
	@scripts/screenshots

conformance: $(VENV)/.dev      ## the published conformance suite, against remit on both sides
	@scripts/conformance

bench: $(VENV)/.dev            ## remit beside nginx and its peers, in one run: docs/benchmarks.md
	@scripts/bench $(ARGS)

example: $(BIN)/remit $(if $(NAME),$(VENV)/.dev)  ## who may merge in the nine roles; NAME=… runs one of examples/
	@$(if $(NAME),scripts/example $(NAME) $(ARGS),remit who-can git/git_merge --config examples/nine-roles/remit.yaml)

check: lint types              ## the whole gate, the tests last
	@scripts/mutation
	@$(MAKE) --no-print-directory conformance
	@$(MAKE) --no-print-directory test

check-full: check              ## the gate with more examples and longer runs
	@scripts/mutation --again
	@HYPOTHESIS_PROFILE=full scripts/test
	@python bench/soak.py

lock:                          ## pin what pyproject.toml asks for
	@scripts/lock
