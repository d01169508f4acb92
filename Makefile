# Only Python 3.11 or newer and make are needed; everything else goes into .venv.
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name) 2>/dev/null)))
BIN := .venv/bin
READY := .venv/.ready

.PHONY: run test stress soak field results docs servers lint clean
.DELETE_ON_ERROR:

run: $(READY)  ## a first look, then one of the paper's experiments, small, on the data that comes with the sources
	$(BIN)/rankfall demo --out out/first-look.html
	$(BIN)/rankfall reproduce movielens-small --sweep tradeoff --threshold 4 --out out/reproduce
	@echo "Start with out/first-look.html"

# Files in their own order, so that the longest ones (crashes of servers) do not come last, when the other cores are idle.
test: lint servers  ## everything: style, types, layers, tests, doctests
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

stress: $(READY) servers  ## the tests that crash, wait or race, 20 times; about an hour
	$(BIN)/python scripts/stress.py

soak: $(READY) servers  ## servers under load for an hour while everything goes wrong, then the long forms of tests
	$(BIN)/python scripts/soak.py --write docs/reliability.md
	$(BIN)/python -m pytest -m soak

field: $(READY)  ## every study of the field, into docs/field-results.md; some five minutes on two idle cores
	$(BIN)/rankfall run studies/field/*.toml --out out/field
	$(BIN)/python scripts/field_results.py

results: $(READY)  ## the paper's experiments at its size and the studies beside them, into docs/results.md; a night, and it resumes
	$(BIN)/rankfall data get movielens-1m
	$(BIN)/rankfall reproduce movielens-1m --scale paper --repeats 1 --out out/results/plain
	$(BIN)/rankfall reproduce movielens-1m --scale paper --repeats 1 --unit-preferences --out out/results/unit
	$(BIN)/rankfall reproduce movielens-1m --scale paper --repeats 1 --one-topic --out out/results/one-topic
	$(BIN)/rankfall run studies/paper/*.toml --out out/results
	$(BIN)/python scripts/paper_results.py

docs: $(READY)  ## docs/cli.md, from the commands themselves
	$(BIN)/python scripts/cli_reference.py

servers:  ## PostgreSQL and a browser for the tests that need them, installed where that is possible
	@scripts/servers

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "No python3 found; install Python 3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is older than 3.11; set PYTHON=/path/to/a/newer/python3."; exit 1; }
	@echo "Setting up .venv (once, a minute or two) ..."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $(READY)

clean:  ## remove what make run and make test leave behind
	rm -rf .venv out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
