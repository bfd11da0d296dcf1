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
export PSEUDOPOST_LONG_PROFILE ?= $(PSEUDOPOST_PROFILE)
# Chapters and chains run side by side; threads of linear algebra would only slow them.
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help book offline pdf test lint pytest notebooks times strip refresh lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(0 if sys.version_info >= (3, 12) else f"pseudopost needs Python 3.12 or later; {sys.executable} is {v} (choose another with: make PYTHON=...)")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

book: $(VENV)/.installed  ## Execute every chapter, build _build/html and the notebooks in _build/editions
	$(BIN)/python tools/notebooks.py stale
	$(BIN)/python tools/notebooks.py execute
	$(BIN)/jupyter-book build --warningiserror --nitpick --keep-going --quiet .
	$(BIN)/python tools/editions.py
	cp -R $(BUILD)/editions/reader/book/. $(BUILD)/html/_sources/book/

offline: book  ## Pack the built book, which needs no network, into _build/offline.zip
	$(BIN)/python -m zipfile -c $(BUILD)/offline.zip $(BUILD)/html/

pdf: $(VENV)/.installed  ## Build the whole book as _build/pdf/pseudopost.pdf (needs LaTeX)
	@for tool in latexmk xelatex; do command -v $$tool > /dev/null || { echo "make pdf needs LaTeX ($$tool is missing). On Debian: apt-get install --no-install-recommends latexmk texlive-xetex texlive-fonts-recommended fonts-freefont-otf fonts-texgyre-math fonts-dejavu-core" >&2; exit 1; }; done
	$(BIN)/python tools/notebooks.py stale
	$(BIN)/python tools/notebooks.py execute
	$(BIN)/jupyter-book build --builder latex --warningiserror --keep-going --quiet .
	cd $(BUILD)/latex && max_print_line=1000 latexmk -xelatex -interaction=nonstopmode -halt-on-error -silent pseudopost.tex
	mkdir -p $(BUILD)/pdf
	cp $(BUILD)/latex/pseudopost.pdf $(BUILD)/pdf/
	$(BIN)/python -m pytest tests/built/test_pdf.py

test: export PSEUDOPOST_LONG_PROFILE = class
test: lint  ## Everything that CI runs: ruff, pytest, nbval (the long chapters in profile class), the book
	$(MAKE) -j2 pytest notebooks
	$(MAKE) book
	$(BIN)/python -m pytest -rs tests/built

lint: $(VENV)/.installed  ## Check style with ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

pytest: $(VENV)/.installed  ## Run the unit tests
	$(BIN)/python -m pytest --ignore tests/built

notebooks: $(VENV)/.installed  ## Run every chapter and compare its checked cells
	$(BIN)/python tools/notebooks.py stale
	$(BIN)/python -m pytest -p no:cacheprovider -p tools.notebooks -n 2 --dist loadscope --junitxml=$(BUILD)/notebooks.xml \
		--nbval-lax --nbval-cell-timeout=1800 $(BOOK)

times: $(VENV)/.installed  ## After `make clean notebooks`: run every chapter again and store the seconds of both
	$(BIN)/python tools/notebooks.py times

strip: $(VENV)/.installed  ## Remove the outputs of all cells but the checked ones
	$(BIN)/python tools/notebooks.py strip

refresh: $(VENV)/.installed  ## Run every chapter and store the outputs of its checked cells
	$(BIN)/python tools/notebooks.py refresh

lock: $(VENV)/.installed  ## Renew requirements.txt from pyproject.toml
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.12 --all-extras --custom-compile-command "make lock" --output-file requirements.txt pyproject.toml

clean:  ## Delete everything that was built, and the stored fits
	rm -rf $(BUILD)
