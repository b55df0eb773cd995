# Everything runs in .venv, which the first target makes; PYTHON is any Python >= 3.11.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test long-tests test-all budget lint docs proofs notebooks benchmark release clean

demo: $(STAMP)
	rm -rf jaxcert-demo && $(BIN)/jaxcert demo

# What is exact to the last bit, and what computes for long, is tested as users compile it; all else with programs that
# compile three times as fast, and run more slowly (tests/compilations.py).
PYTEST := python -m pytest -q -n auto --dist worksteal
QUICKLY := JAX_DISABLE_MOST_OPTIMIZATIONS=true
# Compiled programs are kept from one run to the next, in ~/.cache/jaxcert/tests (tests/compilations.py), at most 1 GB;
# JAX_ENABLE_COMPILATION_CACHE=false does without.
test: $(STAMP)
	$(BIN)/$(PYTEST) -m "not slow and exact"
	$(QUICKLY) $(BIN)/$(PYTEST) -m "not slow and not exact"

long-tests: $(STAMP)
	$(BIN)/$(PYTEST) -m "slow and exact"
	$(QUICKLY) $(BIN)/$(PYTEST) -m "slow and not exact"

test-all: test long-tests

# `make test` with nothing kept, which has to stay within its seconds of the processor.
budget: $(STAMP)
	$(BIN)/python tests/budget.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(STAMP)
	$(BIN)/pip install --quiet -e ".[docs]"
	$(BIN)/mkdocs build --strict

proofs:
	@case "$$(coqc --print-version)" in 8.16.*) $(MAKE) -C proofs;; *) echo "skipped: the proofs need Coq 8.16";; esac

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

# What users install: the built wheel, outside the checkout, with each set of extras and at both ends of JAX's range.
ENVIRONMENTS := core cli brax worlds oldest newest
.PHONY: environments $(ENVIRONMENTS)
WITH_cli := [cli]
WITH_brax := [brax,gymnax,dev]
WITH_worlds := [jumanji,jaxmarl,dev]
WITH_oldest := [dev]
AND_oldest := "jax==0.7.0"
WITH_newest := [dev]
AND_newest := "jax>=0.11"

# The first of these versions that is here.
find = $(shell for each in $(foreach v,$(1),python$(v) $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/$(v).*/bin/python)); \
  do "$$each" -c 'import sys; print(sys.executable)' 2>/dev/null && break; done)
PYTHON_oldest = $(call find,3.11 3.12 3.13)
PYTHON_newest = $(call find,3.12 3.13 3.14)
$(foreach each,core cli brax worlds,$(eval PYTHON_$(each) := $(BIN)/python))

environments: $(ENVIRONMENTS:%=.venvs/%/.installed)

dist/.built: $(STAMP) $(shell find jaxcert -type f -not -name '*.pyc')
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@touch $@

# Without the Python that it needs an environment stays empty.
PIP = $(BIN)/python -m pip --python .venvs/$*/bin/python install --quiet
.venvs/%/.installed: dist/.built
	@mkdir -p .venvs/$* && rm -rf .venvs/$*/bin
	@if [ -n "$(PYTHON_$*)" ]; then set -ex; \
	  "$(PYTHON_$*)" -m venv --without-pip .venvs/$*; \
	  $(PIP) "$$(echo dist/*.whl)$(WITH_$*)" $(AND_$*); \
	  $(PIP) --no-deps --force-reinstall dist/*.whl; fi
	@touch $@

# Environment, tests, settings: those tests of a copy of the checkout that lacks the package.
elsewhere = if ! [ -e .venvs/$(1)/bin ]; then echo "skipped: no Python for the environment $(1)"; exit; fi; set -e; \
  rm -rf .venvs/$(1)/checkout; mkdir .venvs/$(1)/checkout; \
  cp -r tests benchmarks docs notebooks README.md pyproject.toml .venvs/$(1)/checkout; \
  cd .venvs/$(1)/checkout; PYTHONPATH=. $(3) ../bin/$(PYTEST) $(2)

core: .venvs/core/.installed
	cd .venvs/core && bin/python ../../.ci/wheel_check.py

cli: .venvs/cli/.installed
	rm -rf .venvs/cli/run && mkdir .venvs/cli/run
	cd .venvs/cli/run && ../bin/jaxcert demo --out demo >demo.txt && ls demo/*.png >/dev/null
	cd .venvs/cli/run && ../bin/python -c "import jaxcert, numpy; numpy.savez('r.npz', returns=jaxcert.sample_returns('cheetah'))" && \
	  ../bin/jaxcert certify r.npz --support 0 1000 --threshold 500 --delta 0.01 --json r.json --report r.html && \
	  ../bin/jaxcert verify r.json r.npz

# Training and simulated robots: what the extras add to the tests that run without them.
brax: .venvs/brax/.installed
	$(call elsewhere,$@,$(addprefix tests/,training/test_brax_env.py training/test_ppo.py \
	  tasks/test_locomotion.py tasks/test_adapters.py tasks/test_other_libraries.py \
	  tasks/test_environments.py::test_returns_lie_in_the_support \
	  test_docs.py::test_python_runs_with_brax test_docs.py::test_robots_are_trained_as_the_page_says) "tests/test_notebooks.py::test_runs_again[brax_training]")

# Environments of Jumanji and JaxMARL.
worlds: .venvs/worlds/.installed
	$(call elsewhere,$@,tests/tasks/test_other_libraries.py "tests/test_docs.py::test_python_runs[docs/any_policy.md]")

# What every release of JAX must agree on, in both precisions: the reference tables, the last bits, elementary functions.
AGREED := $(addprefix tests/,certificates/test_epsilon_reference.py certificates/test_batch_independence.py \
  numerics/test_elementary.py bounds/test_bounds_reference.py)
# And all but the marked tests of metrics, rollouts, the grid, sweeps, tasks that stop by themselves, successes and sums.
USED := $(addprefix tests/,returns rollouts/test_collect.py rollouts/test_any_policy.py \
  tasks/test_simple_grid.py sweep sequential numerics/test_batches.py numerics/test_summation.py certificates/test_soft.py \
  certificates/test_attained.py)
oldest newest: %: .venvs/%/.installed
	$(call elsewhere,$@,$(AGREED)) && cd ../../.. && $(call elsewhere,$@,-m "not slow or listed" $(USED),$(QUICKLY))

# Builds and checks what is published, and tags the commit; publishing it is left to `git push --tags` and `twine upload`.
release: $(STAMP)
	$(BIN)/python .ci/release_check.py
	$(BIN)/python -m pip install --quiet build twine
	rm -rf dist && $(BIN)/python -m build --outdir dist . && $(BIN)/python -m twine check --strict dist/*
	version=$$(sed -n 's/__version__ = "\(.*\)"/\1/p' jaxcert/_version.py) && git tag -a "v$$version" -m "jaxcert $$version"

clean:
	rm -rf .venv .venvs build dist site jaxcert-demo
