# Two targets do everything on a machine with Python 3.12 or later and make: book and test.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD := _build
BOOK := $(wildcard book/*.ipynb book/*/*.ipynb)

# Sampled fits are kept here; the notebook tests fill it and the book build reads it.
export PSEUDOPOST_CACHE ?= $(CURDIR)/$(BUILD)/fits
export PSEUDOPOST_PROGRESS ?= off
export PSEUDOPOST_PROFILE ?= book

.DEFAULT_GOAL := help
.PHONY: help book test lint pytest notebooks strip refresh lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(0 if sys.version_info >= (3, 12) else f"pseudopost needs Python 3.12 or later; {sys.executable} is {v} (choose another with: make PYTHON=...)")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

book: $(VENV)/.installed  ## Execute every chapter and build the book into _build/html
	$(BIN)/python tools/notebooks.py stale
	$(BIN)/jupyter-book build --warningiserror --nitpick --keep-going --quiet .

test: lint  ## Everything that CI runs: ruff, pytest and nbval side by side, and the book
	$(MAKE) -j2 pytest notebooks
	$(MAKE) book
	$(BIN)/python -m pytest tests/built

lint: $(VENV)/.installed  ## Check style with ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

pytest: $(VENV)/.installed  ## Run the unit tests
	$(BIN)/python -m pytest --ignore tests/built

notebooks: $(VENV)/.installed  ## Run every chapter and compare its checked cells
	$(BIN)/python -m pytest -p no:cacheprovider --nbval-lax --nbval-cell-timeout=1800 $(BOOK)

strip: $(VENV)/.installed  ## Remove the outputs of all cells but the checked ones
	$(BIN)/python tools/notebooks.py strip

refresh: $(VENV)/.installed  ## Run every chapter and store the outputs of its checked cells
	$(BIN)/python tools/notebooks.py refresh

lock: $(VENV)/.installed  ## Renew requirements.txt from pyproject.toml
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.12 --all-extras --custom-compile-command "make lock" --output-file requirements.txt pyproject.toml

clean:  ## Delete everything that was built, and the stored fits
	rm -rf $(BUILD)
