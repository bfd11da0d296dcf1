# Everything runs on a machine with Python 3.12 or later and make; start with `make book`.

PYTHON ?= python3
# book: as published; class: small sizes; paper: the papers' own.
PROFILE ?= book
# Chapters and tests that run side by side; chapters fewer where memory is short.
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN)
CHAPTER ?=
SEED ?=
BANK ?=
FOLDER ?=
VENV := .venv
BIN := $(VENV)/bin
BUILD := _build
BOOK := $(wildcard book/*.ipynb book/*/*.ipynb)
TIMED := $(BIN)/python tools/timed.py
RUN := python

export WORKERS
export PSEUDOPOST_PROFILE ?= $(PROFILE)
export PSEUDOPOST_LONG_PROFILE ?= $(PSEUDOPOST_PROFILE)
# Sampled fits are kept here; the notebook tests fill it and the book build reads it.
export PSEUDOPOST_CACHE ?= $(CURDIR)/$(BUILD)/fits
export PSEUDOPOST_PROGRESS ?= off
# Chapters and chains run side by side; threads of linear algebra would only slow them.
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help book preview offline kit pdf slides exam competition report quick test lint pytest coverage notebooks pages times strip refresh lock clean

help:  ## List the targets, with minutes on two cores
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(0 if sys.version_info >= (3, 12) else f"pseudopost needs Python 3.12 or later; {sys.executable} is {v} (choose another with: make PYTHON=...)")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV), 1 to 2 minutes ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt \
		&& $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . \
		|| { echo "The packages above could not be downloaded or installed. Is there a network? Then run make again: it goes on where it stopped." >&2; exit 1; }
	@# Chapters import what they share from book/.
	@$(BIN)/python -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "pseudopost_book.pth").write_text("$(CURDIR)/book\n")'
	@touch $@

book: $(VENV)/.installed  ## Build the book in _build/html and the notebooks in _build/editions (340; PROFILE=class: 14)
	$(BIN)/python tools/execute.py
	$(MAKE) pages

pages:
	@echo "rendering the pages, about a minute ..."
	$(BIN)/jupyter-book build --warningiserror --nitpick --keep-going --quiet .
	$(BIN)/python tools/editions.py
	cp -R $(BUILD)/editions/reader/book/. $(BUILD)/html/_sources/book/

preview: $(VENV)/.installed  ## Show one chapter as a page: make preview CHAPTER=whack-a-mole (1 to 40; seconds if only its text changed)
	$(BIN)/python tools/preview.py $(CHAPTER)

offline: book  ## Pack the built book, which needs no network, into _build/offline.zip
	$(BIN)/python -m zipfile -c $(BUILD)/offline.zip $(BUILD)/html/

pdf: $(VENV)/.installed  ## Build the whole book as _build/pdf/pseudopost.pdf (5 after make book; needs LaTeX)
	@for tool in latexmk xelatex; do command -v $$tool > /dev/null || { echo "make pdf needs LaTeX ($$tool is missing). On Debian: apt-get install --no-install-recommends latexmk texlive-xetex texlive-fonts-recommended fonts-freefont-otf fonts-texgyre-math fonts-dejavu-core" >&2; exit 1; }; done
	$(BIN)/python tools/execute.py
	$(BIN)/jupyter-book build --builder latex --warningiserror --keep-going --quiet .
	cd $(BUILD)/latex && max_print_line=1000 latexmk -xelatex -interaction=nonstopmode -halt-on-error -silent pseudopost.tex
	mkdir -p $(BUILD)/pdf
	cp $(BUILD)/latex/pseudopost.pdf $(BUILD)/pdf/
	$(BIN)/python -m pytest tests/built/test_pdf.py

kit: book  ## Pack the notebooks without solutions and the package: _build/pseudopost-course.zip
	$(BIN)/python tools/kit.py

slides: book  ## Make six decks, one for each session of the short course, in _build/slides
	$(BIN)/python tools/slides.py

exam: $(VENV)/.installed  ## Make an examination and what marks it: make exam SEED=7 (BANK=my_questions.py)
	$(BIN)/python tools/exam.py "$(SEED)" $(BANK)

competition: $(VENV)/.installed  ## Deal the release-board competition: make competition SEED=3; FOLDER=... scores it
	$(BIN)/python tools/competition.py $(if $(FOLDER),score "$(FOLDER)",deal "$(SEED)")

report: $(VENV)/.installed  ## Write the reproduction report from the ledger, as _build/report.md
	$(BIN)/python tools/report.py

quick: lint  ## Check style and run the fast unit tests (1)
	$(BIN)/python -m pytest -n $(WORKERS) --ignore tests/built -m "not slow"

test: export PSEUDOPOST_LONG_PROFILE = class
test: $(VENV)/.installed  ## Everything that CI runs: ruff, pytest, nbval (the long chapters small), the book, a browser (40)
	$(TIMED) start
	$(TIMED) lint $(MAKE) lint
	$(MAKE) -j2 timed-pytest timed-notebooks
	$(TIMED) book $(MAKE) book
	$(TIMED) "built book" $(BIN)/python -m pytest -rs tests/built
	@$(TIMED) report

timed-pytest:
	$(TIMED) "unit tests" $(MAKE) pytest

timed-notebooks:
	$(TIMED) notebooks $(MAKE) notebooks

lint: $(VENV)/.installed  ## Check style and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

pytest: $(VENV)/.installed  ## Run all unit tests (15)
	$(BIN)/$(RUN) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --ignore tests/built

coverage: export COVERAGE_FILE = $(CURDIR)/$(BUILD)/coverage/data
coverage: $(VENV)/.installed  ## The same, and tell the branches that they do not reach (20)
	mkdir -p $(BUILD)/coverage && rm -f $(BUILD)/coverage/*
	$(MAKE) pytest RUN="coverage run"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

notebooks: $(VENV)/.installed  ## Run every chapter and compare its checked cells (340)
	$(BIN)/python tools/execute.py --forget
	$(BIN)/python -m pytest -p no:cacheprovider -p tools.notebooks -n $(WORKERS) --dist loadscope \
		--nbval-lax --nbval-cell-timeout=7200 $(BOOK)

times: $(VENV)/.installed  ## Store running times: after `make clean book`, of either size
	$(BIN)/python tools/notebooks.py times

strip: $(VENV)/.installed  ## Remove the outputs of all cells but the checked ones
	$(BIN)/python tools/notebooks.py strip

refresh: $(VENV)/.installed  ## Execute the chapters that need it; store what checked cells print and find (340)
	$(BIN)/python tools/notebooks.py refresh

lock: $(VENV)/.installed  ## Renew requirements.txt from pyproject.toml
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.12 --all-extras --custom-compile-command "make lock" --output-file requirements.txt pyproject.toml

clean:  ## Delete everything that was built, and the stored fits
	rm -rf $(BUILD)
