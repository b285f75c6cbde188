# Every target is one line and says what it does; `make help` prints them.

PYTHON ?= python3
SECONDS ?= 60
FUZZ ?=
SPARK ?= 4.0.0
ROUNDS ?= 20
DIST ?= dist
OPTIONS ?=
# Tests of a target: all, those that each change must pass (change), or the others (nightly), by the marks of conftest.py.
TIER ?= all
# Part K of N of the files, such as 1/3.
SHARE ?= 1/1
GROUP ?=
BIN := .venv/bin
PRODUCTS := kwire-admin kwire-cluster kwire-zookeeper-tools kwire-pipeline
TESTS := tests $(addsuffix /tests,$(PRODUCTS))
PIP = $(BIN)/python -m pip install --quiet --constraint constraints.txt
PYTEST = $(BIN)/python -m pytest $(OPTIONS) --share=$(SHARE)
AND_TIER = $(if $(filter change,$(TIER)), and not nightly)$(if $(filter nightly,$(TIER)), and nightly)
# What each supported version of Spark must pass; `make test-java` and `make test-programs` run it on the installed one.
SPARK_TESTS := $(addprefix kwire-pipeline/tests/pipeline/,test_pipeline.py test_pipeline_command.py test_killed_pipeline.py test_connect.py live/test_capture_streams.py gold/test_inputs.py)
# Folders with a target of their own.
KAFKA := $(wildcard $(addsuffix /tests/kafka,$(PRODUCTS)))
OTHERS := $(addprefix --ignore=,$(KAFKA)) --ignore=tests/release --ignore=tests/lint
# The files with such tests; collecting all files would take longer than some of them.
PROGRAMS = $(shell grep --recursive --files-with-matches --include='test_*.py' pytest.mark.programs $(TESTS))
# Files with random examples of Hypothesis, and of histories of a cluster.
GENERATED = $(shell grep --recursive --files-with-matches --include='test_*.py' 'import.*hypothesis\|from hypothesis' $(TESTS))
HISTORIES := kwire-cluster/tests/cluster/controller/test_random_histories.py $(addprefix kwire-cluster/tests/cluster/node/settings/,test_random_features.py test_random_settings.py)
PURE := --package kwire --package kwire-columns --package kwire-response-cache
PRODUCT_TESTS = $(if $(PRODUCT),$(or $(shell $(PYTHON) -m scripts.products tests $(PRODUCT)),$(error no tests)))
# Many tests wait for brokers or timers, so one process more than processors keeps them busy.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min(4, os.cpu_count() + 1))')
PARALLEL = --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder
RUST := $(shell find rust Cargo.toml Cargo.lock -name '*.rs' -o -name 'Cargo.*')

# Tests start thousands of processes, and each would compile the modules that it imports.
unexport PYTHONDONTWRITEBYTECODE


help: ## print this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 14

setup: ## make .venv and build the engine into it (needs Python 3.11+ and a Rust toolchain)
	@$(MAKE) --no-print-directory --jobs=2 .venv/built

demo: ## install and show all of it in three minutes: incidents, a cluster, an alert, frames, polls (needs Java 17+)
	$(PYTHON) -m scripts.demo

# A test that starts Java without the mark `java` fails here. The slowest ones wait for processes that they killed.
test: WORKERS = 4
test: TIER = change
test: export JAVA_HOME =
test: export PATH := $(CURDIR)/tests/without_java:$(PATH)
test: setup ## run the tests of Rust and Python that need no other program; PRODUCT=kwire-admin: of one product
	$(if $(and $(PRODUCT),$(if $(filter kwire,$(PRODUCT)),,other)),,$(BIN)/python -m tests.write_rust_cases && cargo test --workspace --quiet)
	$(PYTEST) $(OTHERS) -m 'not java and not programs$(AND_TIER)' $(PARALLEL) --durations=20 $(PRODUCT_TESTS)

test-java: java setup ## run the tests of nodes, ZooKeeper, and Spark, which need Java 17+; PRODUCT= as above
	$(PYTEST) $(OTHERS) -m 'java and not programs$(AND_TIER)' $(PARALLEL) --durations=20 $(PRODUCT_TESTS)

test-programs: java setup ## run the tests that need the network, a browser, tmux, Valgrind, or several Sparks
	$(PYTEST) -m 'programs$(AND_TIER)' $(PARALLEL) --durations=20 $(PROGRAMS)

test-kafka: java setup ## run the tests against real Kafka 3.9.1 and 4.4.0 (needs Java 17+, Maven, and MIT Kerberos)
	$(PYTEST) $(KAFKA) -m 'kafka$(AND_TIER)'

nightly: java setup ## run what `.ci/run` leaves out, or one GROUP of it (`python3 -m scripts.nightly --list`)
	$(PYTHON) -m scripts.nightly $(GROUP)

# PySpark before 4.1 leaves sockets open, which is a warning. The version is in front of the installed one on the path.
test-spark: java setup ## run ingest, gold, killed streams, spark-submit, two executors, and Connect on PySpark SPARK=4.0.0
	PYTHONPATH=$$($(BIN)/python -m tests.pipeline.spark_versions $(SPARK)) $(PYTEST) -W default $(SPARK_TESTS)

test-release: setup ## test the wheel, and the codec on each supported CPython (fetches those that are missing)
	$(PYTEST) tests/release -m 'release$(AND_TIER)'

test-seeds: setup ## run the tests with generated examples that need no Java, with new seeds
	$(PYTEST) $(OTHERS) -m 'not java and not programs' --hypothesis-profile=seeds $(PARALLEL) $(GENERATED)

test-histories: java setup ## run random histories of a cluster with faults for some minutes; `make soak` runs them for hours
	KWIRE_SOAK_EXAMPLES=100 KWIRE_SOAK=2 $(PYTEST) --timeout=0 $(PARALLEL) $(HISTORIES)

miri: setup ## run the tests of the pure Rust crates under Miri (needs nightly Rust with the components miri and rust-src)
	$(BIN)/python -m tests.write_rust_cases
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test $(PURE) --lib --tests

soak: java setup ## run 1,000 random histories of a cluster with faults, and real processes through faults for long
	KWIRE_SOAK_EXAMPLES=1000 $(BIN)/python -m pytest --timeout=0 $(HISTORIES)
	KWIRE_SOAK=$(ROUNDS) $(BIN)/python -m pytest --timeout=0 kwire-cluster/tests/cluster kwire-pipeline/tests/pipeline/test_killed_pipeline.py kwire-pipeline/tests/pipeline/sinks/test_random_alerts.py kwire-pipeline/tests/pipeline/store/test_faults.py
	KWIRE_SOAK=1000 $(BIN)/python -m pytest --timeout=0 kwire-pipeline/tests/pipeline/sinks/test_random_receivers.py

coverage: java setup ## run the tests of each product, and fail below its coverage (scripts/coverage_gates.py)
	$(BIN)/python -m pytest $(OTHERS) -m 'not programs' --numprocesses=$(WORKERS) --cov --cov-report=json:.coverage.json
	$(BIN)/python -m scripts.coverage_gates .coverage.json

stubs: setup ## write the names of the messages for type checkers (python/kwire/messages/*/__init__.pyi)
	$(BIN)/python -m scripts.stubs

docs: setup ## build the documentation site into site/; a broken link or reference is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

lint: setup ## check formatting, style, types, layers and the stub of the native module
	scripts/lint.sh

bench: setup ## measure against peers in one run; prints ratios, writes JSON records
	$(BIN)/python -m benches.run && $(BIN)/python -m benches.figures && $(BIN)/python -m benches.native

bench-check: setup ## compare the instructions of the engine with the last record; needs Valgrind
	$(BIN)/python -m benches.instructions --against $(lastword $(sort $(wildcard benches/records/instructions-*.json))) --limit 10

bench-native: setup ## measure against codecs in Java, Go and Rust; names the toolchains it lacks
	$(BIN)/python -m benches.native

fuzz: setup ## fuzz crate and package for SECONDS=60 each; prints executions and edges
	$(BIN)/python -m fuzz.run --seconds $(SECONDS) $(FUZZ)

wheel: setup ## build the source archive, a wheel from it, the wheel without the engine, and those of the other products into DIST=dist
	CARGO_TARGET_DIR=target $(BIN)/maturin build --release --sdist --out $(DIST)
	scripts/pure_wheels.sh $(BIN)/python $(DIST)

java:
	@PYTHON=$(PYTHON) scripts/check_machine.sh java

# Stamps, so that a second call does only what has changed. Cargo builds the engine while pip installs.

.venv/tools: pyproject.toml $(addsuffix /pyproject.toml,$(PRODUCTS)) constraints.txt scripts/check_machine.sh
	PYTHON=$(PYTHON) scripts/check_machine.sh
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --upgrade pip
	$(PIP) --group build
	touch $@

# PySpark has no wheel, and compressing its jars once more for one takes 18 s of a processor.
.venv/installed: .venv/tools scripts/requirements.py scripts/products.py
	$(BIN)/python -m scripts.requirements all > .venv/requirements.txt
	$(PIP) --config-settings=--build-option=--compression=stored --group dev --requirement .venv/requirements.txt
	touch $@

.venv/engine: .venv/tools $(RUST)
	$(BIN)/maturin develop --quiet --release --skip-install
	touch $@

# Cargo finds the engine built. Without a group, maturin would install the group `dev` without constraints.
.venv/built: .venv/installed .venv/engine
	PIP_QUIET=1 $(BIN)/maturin develop --quiet --release --group build
	$(PIP) --no-deps --no-build-isolation $(addprefix --editable ./,$(PRODUCTS))
	touch $@
