# Kraftgate's ground: on a Debian machine with Python 3.11 and make, `make demo` and `make test`
# need nothing else. Each target sets up what it needs and says nothing when that is there.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Without bytecode every process compiles the whole house, and the tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.kraftgate-ready
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input --quiet
COMPILE := $(BIN)/uv pip compile pyproject.toml --quiet --generate-hashes --python-version 3.11 \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate
NPM_LOCKS = $$(git ls-files '*package-lock.json')
NPM_LOCK := npm update --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --loglevel=error && \
	node -p 'JSON.stringify(JSON.parse(fs.readFileSync("package-lock.json")), (k, v) => k === "funding" ? undefined : v, 2)' >new && \
	mv new package-lock.json
# Tests with a cluster wait for half of their time: four workers keep two cores busy, three do not
# (8 % idle). Six only contend, and every cluster that waits costs processor time.
WORKERS ?= 4
PYTEST_ARGS ?=
NEEDS_NOTHING := not spark and not lab and not prometheus and not browser
FUZZ_ARGS ?=

.PHONY: help venv node console java prometheus chromium jars warm test test-fast lint types imports demo fuzz bench reference lock clean

help: ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 12

demo: console jars warm ## migrate a small real cluster from ZooKeeper to KRaft and watch it
	@exec $(BIN)/python -m orchestrator.demo

# Thousands of small files are synced; in memory that takes no time. Half a gigabyte is needed.
IN_MEMORY := if grep -q '^[^ ]* /dev/shm ' /proc/mounts && ! grep -q '^[^ ]* /dev/shm .*noexec' /proc/mounts && \
	[ -w /dev/shm ] && [ "$$(df --output=avail --block-size=1G /dev/shm | tail -n 1)" -ge 4 ]; then export TMPDIR=/dev/shm; fi
PYTEST = $(IN_MEMORY); exec $(BIN)/python -m pytest --override-ini tmp_path_retention_count=1

test: venv ## everything: tools, then all tests
	@$(MAKE) --jobs 2 --output-sync=target lint types imports console jars warm prometheus chromium
	$(PYTEST) --override-ini tmp_path_retention_policy=failed \
		--numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

test-fast: console ## a minute: what needs no Spark, cluster, Prometheus or Chromium, with few examples
	@$(PYTEST) --numprocesses $(WORKERS) --dist worksteal --hypothesis-profile fast \
		-m "not slow and $(NEEDS_NOTHING)" $(PYTEST_ARGS)

FUZZ ?= 1000000
fuzz: venv ## damage input of every parser, FUZZ times each (a million: days); Ctrl-C ends it
	@exec nice $(BIN)/python -m tests.fuzz --count $(FUZZ) $(FUZZ_ARGS)

bench: jars warm ## measure the figures of the handbook
	@exec $(BIN)/python -m tests.bench

reference: venv ## rewrite the generated pages of the handbook
	@$(BIN)/python -m orchestrator.reference

lint: venv
	@$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/python .ci/plain_language

types: venv
	@$(BIN)/mypy --no-error-summary

imports: venv
	@if ! said=$$($(BIN)/lint-imports 2>&1); then echo "$$said"; exit 1; fi

venv: $(READY) ## the virtual environment, from the lock

$(READY): requirements-dev.lock pyproject.toml | node
	@python=$$(.ci/python)
	echo "setting up $(VENV) from requirements-dev.lock (Spark is large: some minutes the first time)"
	"$$python" -m venv $(VENV)
	$(PIP) install --require-hashes --requirement requirements-dev.lock
	$(PIP) install --no-build-isolation --no-deps --editable .
	touch $@

node: ## npm, for the modules of the console's page
	@.ci/node

console: venv ## the modules of the console's page, held against their lock
	@$(BIN)/python -m orchestrator.views.console.third_party

java: ## Java 17 and Maven
	@.ci/java

prometheus: ## Prometheus and Alertmanager, for the tests of metrics and alerts
	@.ci/prometheus

chromium: ## Chromium, for the tests of the console
	@.ci/chromium

jars: venv java ## Kafka's jars, fetched once and held against their lock
	@$(BIN)/python -c 'from orchestrator.lab.machine.jars import ensure_jars; ensure_jars()'

warm: jars ## archives of Spark's and Kafka's classes, which halve their start
	@$(BIN)/python -m streams.spark.warm || true # nothing depends on it
	$(BIN)/python -m orchestrator.lab.warm || true

lock: venv ## renew all lock files
	@$(COMPILE) --upgrade --output-file requirements.lock
	$(COMPILE) --upgrade --extra report --constraint requirements.lock --output-file requirements-report.lock
	$(COMPILE) --upgrade --extra report --extra dev --constraint requirements-report.lock --output-file requirements-dev.lock
	for lock in $(NPM_LOCKS); do
		(cd "$${lock%/*}" && $(NPM_LOCK))
	done
	if grep -n '://' requirements*.lock $(NPM_LOCKS); then echo 'a lock names a host' >&2; exit 1; fi

clean: ## remove everything that make made here
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
