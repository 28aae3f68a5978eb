# The front door. `make demo` and `make test` work from a bare clone with python3 and make;
# everything they need goes into .venv/ and nothing is installed elsewhere.

PYTHON ?= python3
BIN := .venv/bin
NAME ?= compile

comma := ,
# Spark needs Java 17 or later. A machine without it gets a runtime from the package index.
JAVA_VERSION := $(shell "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
HAS_JAVA := $(shell [ "0$(JAVA_VERSION)" -ge 17 ] && echo yes)
EXTRAS := dev,serve,terminal$(if $(HAS_JAVA),,$(comma)java)

.PHONY: help setup demo docs test test-all check chaos bench console functions peers clean

help:
	@echo "make setup     prepare .venv/ (the other targets do this themselves)"
	@echo "make demo      a thousand rules and five joins in one graph, on Spark, in a minute"
	@echo "make test      the test suite"
	@echo "make test-all  the test suite with the slow tests"
	@echo "make check     format, lint, types and the quick tests, in under a minute"
	@echo "make chaos     kills, full disks, flipped bits and the like on local, Spark and serve: CHAOS_MINUTES=20 CHAOS_SEED=7"
	@echo "make bench     one benchmark: make bench NAME=compile"
	@echo "make docs      the pages of docs/ as a site, in artifacts/site/"
	@echo "make console   build the console from console/ (needs Node; what is built is committed)"
	@echo "make functions write docs/functions.md from the registry"
	@echo "make peers     the engines that benchmarks compare with, in .peers/"
	@echo "make clean     remove what the other targets made"

setup: .venv/stamp

# pip is asked for errors only: its warnings about index locations are about the machine, not about cqc. `compat` puts this folder
# on Python's path; the finder that would be written otherwise loads 30 modules at every start of Python, 17 ms.
.venv/stamp: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("cqc needs Python 3.11 or later, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@[ -x $(BIN)/python ] || { echo "preparing .venv (a minute or two the first time)"; $(PYTHON) -m venv .venv; }
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt setuptools wheel
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt --no-build-isolation -C editable_mode=compat -e '.[$(EXTRAS)]'
	@$(BIN)/python -m cqc.runtime.spark.session.archive # Spark starts in half the time with it
	@touch $@

demo: warm
	@$(BIN)/python examples/demo/demo.py

# Kernels are compiled once, before the tests, so that no test pays for it or times out over it.
warm: setup
	@[ -e runtime/__pycache__/kernels.stamp ] || echo "compiling the kernels (a minute the first time)"
	@$(BIN)/python -m cqc.runtime.warm
.PHONY: warm

test: warm
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow" < /dev/null

test-all: warm
	@$(BIN)/python -m pytest -n 2 --dist loadgroup --hypothesis-profile=search < /dev/null

# What `make check` leaves to `make test`: random programs, servers, executors, commands in processes of their own.
LONGER := $(addprefix --ignore=tests/,property integration unit/cli/test_process.py unit/runtime/run/durable/test_durable_run.py unit/benchmarks/test_measuring.py unit/runtime/join/execute/test_metaqueues.py repository/test_readme.py repository/test_documents.py)

check: warm
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not spark and not slow and not packaging" $(LONGER) < /dev/null

# What it tried is a table at the end; the same seed tries the same again. Evidence is kept in artifacts/chaos/.
CHAOS_MINUTES ?= 20
CHAOS_SEED ?=
chaos: warm
	@CHAOS_MINUTES=$(CHAOS_MINUTES) CHAOS_SEED=$(CHAOS_SEED) $(BIN)/python -m tests.integration.chaos < /dev/null

bench: setup
	@$(BIN)/cqc bench $(NAME)

# The notice of its makers about the next version is for those who choose packages, not for readers.
docs: setup
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "artifacts/site/index.html"

# Needs Node; what it builds is committed, so that nothing else does.
console:
	@console/build.sh
	@echo "runtime/serve/console/"

functions: setup
	@$(BIN)/python -m cqc.compiler.functions.document > docs/functions.md

peers: .peers/stamp

.peers/stamp: pyproject.toml constraints.txt
	@[ -x .peers/bin/python ] || $(PYTHON) -m venv .peers
	@.peers/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[peers]'
	@.peers/bin/python -m pip install -qq --disable-pip-version-check --no-deps PySiddhi==5.1.0 # its Java archives are all we use
	@touch $@

clean:
	rm -rf .venv .peers build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
