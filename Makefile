# make run    the comparison for real, on a fresh machine too
# make test   everything that must hold before a change is merged
# make help   the rest

VENV    := .venv
BIN     := $(VENV)/bin
STAMPS  := .setup
ARGS    ?=
# One more than cores: tests wait, for browsers, servers and processes.
TESTERS := $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 7 ? n + 1 : 8)))
# pytest's exit code where ARGS chose none.
NO_TESTS := 5
BASELINES := fashion_mnist_table noisy_quadratic hartmann_power_law
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The first Python that will do; constraints.txt was made with 3.11.
PYTHON  ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
             $$p -c 'import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 11))' \
               2>/dev/null && echo $$p && break; done)
SUDO    := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
APT     := $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get

.DEFAULT_GOAL := help
.PHONY: help setup data run test check screenshots lint format clean

help:  ## show this
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(STAMPS)/installed  ## make the environment in .venv

data: $(STAMPS)/data  ## get FashionMNIST: from this machine, by download, or from Debian

run: $(STAMPS)/data  ## run every strategy and print where report.html is; ARGS="--seeds 3" etc.
	@$(BIN)/python -m harness run --strategies all $(ARGS)

# First what starts no cluster; then the real cells, two clusters side by side: their cells wait much of
# the time, for processes to start and for each other.
test: lint $(STAMPS)/data  ## linters, types, then the whole test suite; ARGS="-k asha" etc.
	@$(BIN)/pytest --numprocesses $(TESTERS) --dist loadfile -m "not cluster" $(ARGS); \
	quick=$$?; [ $$quick = 0 ] || [ $$quick = $(NO_TESTS) ] || exit $$quick; \
	$(BIN)/pytest --numprocesses 2 --dist loadfile -m cluster $(ARGS); \
	real=$$?; [ $$real = $(NO_TESTS) ] && exit $$quick; exit $$real

check: $(STAMPS)/installed  ## has the search got worse since the committed baselines? some minutes
	@for name in $(BASELINES); do \
	  $(BIN)/python -m harness check --baseline baselines/$$name.json --confirm $(ARGS) || exit $$?; \
	done

screenshots: $(STAMPS)/installed  ## pictures of a test report in build/screenshots (needs chromium)
	@mkdir -p build/screenshots
	@REPORT_SCREENSHOTS=build/screenshots $(BIN)/pytest -q tests/reports/test_browser.py -k sideways

lint: $(STAMPS)/installed  ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(STAMPS)/installed  ## let ruff put the code in order
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove the environment and caches; runs and data stay
	rm -rf $(VENV) $(STAMPS) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info build dist

$(STAMPS)/installed: pyproject.toml constraints.txt
	@[ -n "$(PYTHON)" ] || { echo "error: found no Python 3.11 or newer that can make virtual" \
	  "environments. On Debian and Ubuntu: apt-get install python3.11-venv (or python3-venv);" \
	  "elsewhere install Python 3.11, or give one with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@mkdir -p $(STAMPS) && touch $@

# The benchmark's own search: torchvision's folder, Debian's package, torchvision's download.
define FIND_DATA
import sys
from benchmarks.fashion_mnist import FashionMNIST
from harness.contract import HarnessError
try:
    print("FashionMNIST:", FashionMNIST().find_data(None).source)
except HarnessError as error:
    sys.exit(f"error: {error}")
endef
export FIND_DATA

$(STAMPS)/data: $(STAMPS)/installed
	@$(BIN)/python -c "$$FIND_DATA" 2>/dev/null || { \
	  echo "FashionMNIST cannot be downloaded: installing Debian's package of it"; \
	  $(APT) install -y -q dataset-fashion-mnist \
	    || { $(APT) update -q; $(APT) install -y -q dataset-fashion-mnist; } \
	    || echo "that did not work either" >&2; \
	  $(BIN)/python -c "$$FIND_DATA"; }
	@touch $@
