# make demo   score the example groups, with nothing but Python 3.11+ on the machine
#             (make demo JUDGE=openai/gpt-5-mini asks a real judge)
# make test   the plain test suite: no extras, no recorded data needed (what it leaves out, it says)
# make check  what a change must pass: lint, types, import contracts, tests
# make dist   the wheel and the source distribution, in dist/, checked as a package index would
# make docs   the documentation's site, in out/site: pages, API, llms.txt; a broken link or anchor is an error

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check lint types imports bench docs dist clean

demo: $(VENV)/.installed
	@mkdir -p out
	$(BIN)/calipers score examples/groups.jsonl -o out/demo.jsonl --force $(if $(JUDGE),--judge $(JUDGE))
	@$(BIN)/python examples/agreement.py examples/groups.jsonl out/demo.jsonl

test: $(VENV)/.test
	$(BIN)/python -m pytest -n logical --dist loadfile $(ARGS)

check: lint types imports test

lint: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.check
	$(BIN)/mypy
	$(BIN)/mypy tests --allow-untyped-defs --allow-incomplete-defs --allow-untyped-decorators

imports: $(VENV)/.check
	$(BIN)/lint-imports

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/python -m scripts.site

dist: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group package
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "calipers needs Python 3.11 or newer; run: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --group check
	@touch $@

clean:
	rm -rf $(VENV) out dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
