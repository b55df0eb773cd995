# Everything runs in .venv, which the first target makes; PYTHON is any Python >= 3.11.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test long-tests test-all lint docs notebooks benchmark clean

demo: $(STAMP)
	$(BIN)/jaxcert demo --force

# What is exact to the last bit, and what computes for long, is tested as users compile it; all else with programs that
# compile three times as fast, and run more slowly (tests/compilations.py).
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal
QUICKLY := JAX_DISABLE_MOST_OPTIMIZATIONS=true
# Compiled programs are kept from one run to the next, in ~/.cache/jaxcert/tests (tests/compilations.py), at most 1 GB;
# JAX_ENABLE_COMPILATION_CACHE=false does without.
test: $(STAMP)
	$(PYTEST) -m "not slow and exact"
	$(QUICKLY) $(PYTEST) -m "not slow and not exact"

long-tests: $(STAMP)
	$(PYTEST) -m "slow and exact"
	$(QUICKLY) $(PYTEST) -m "slow and not exact"

test-all: test long-tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(STAMP)
	$(BIN)/pip install --quiet -e ".[docs]"
	$(BIN)/mkdocs build --strict

# In place; those whose extra is missing are skipped, with the reason.
notebooks: $(STAMP)
	$(BIN)/python notebooks/run.py

benchmark: $(STAMP)
	$(BIN)/python -m benchmarks.speed --out benchmarks/results/speed.csv --plot docs/speed.png

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jaxcert needs Python 3.11 or newer; found " + sys.version.split()[0] + ". Use make PYTHON=/path/to/python3")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	@touch $(STAMP)

clean:
	rm -rf .venv build dist site jaxcert-demo
