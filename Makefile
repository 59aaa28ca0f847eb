# make demo     the paper's Table 1, live        make bench       speed and memory against scikit-learn
# make test     the tests                        make core-check  the C++ core alone, also under sanitizers
# make lint     ruff and mypy                    make paper       rerun the paper; ARGS=--quick for one repetition
# make clean    remove what was built            make bench-all   rivals and growth: docs/benchmarks.md
#
# Needs Python 3.10 or later, a C++20 compiler and make; everything else goes into .venv.

PYTHON ?= python3
CXX ?= c++
BIN := .venv/bin
CORE := pyproject.toml CMakeLists.txt LICENSE $(wildcard cpp/*.cpp cpp/*.hpp)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo test bench bench-all paper lint core-check clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \?//p;/^$$/q' Makefile

demo: .venv/run.stamp
	@echo 'SIRUS on the LA Ozone data (the paper, Table 1):'
	@echo '$$ pysirus fit ozone --rules 13'
	@echo
	@$(BIN)/pysirus fit ozone --rules 13

test: .venv/dev.stamp
	$(BIN)/python -m pytest -n 2 --dist loadfile

bench: .venv/bench.stamp
	$(BIN)/python benchmarks/run.py

bench-all: .venv/rivals.stamp
	$(BIN)/python -m benchmarks.report

paper: .venv/compare.stamp
	$(BIN)/python -m paper $(ARGS)

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ------------------------------------------------------------------------------------------------- the environment

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python 3.10 or later is needed, $$($(PYTHON) -V) found: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

.venv/run.stamp: .venv/bin/python $(CORE)
	@echo 'Building pysirus into .venv (a minute or two) ...'
	@$(PIP) install -e .
	@touch $@

# the package is there already: this adds what its extras name
.venv/dev.stamp: .venv/run.stamp
	@echo 'Installing what tests and checks need ...'
	@$(PIP) install 'pysirus[test,lint]'
	@touch $@

.venv/compare.stamp: .venv/run.stamp
	@echo 'Installing what comparisons need ...'
	@$(PIP) install 'pysirus[compare,plot]' pandas
	@touch $@

# without imodels there is one comparison less
.venv/bench.stamp: .venv/compare.stamp
	-@$(PIP) install imodels
	@touch $@

# each is skipped where it cannot be had
.venv/rivals.stamp: .venv/compare.stamp
	-@for rival in lightgbm 'imodels six' interpret-core sirus; do $(PIP) install $$rival; done
	@touch $@

# --------------------------------------------------------------------------------------------------- the core alone

CORE_FLAGS := -std=c++20 -ffp-contract=off -Wall -Wextra -Wno-psabi -pthread
# gcc takes split.hpp for reading an uninitialised sum, which the shape of the table excludes; clang has no such warning
FLAGS_release := -O3 -Werror -Wno-maybe-uninitialized -Wno-unknown-warning-option
FLAGS_address := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_thread := -O1 -g -fsanitize=thread
VARIANTS := release address thread
KERNELS := plain
ifneq ($(filter x86_64 amd64,$(shell uname -m)),)
KERNELS += avx2 avx512
CORE_FLAGS += -DPYSIRUS_X86
endif
KERNEL_avx2 := -mavx2
KERNEL_avx512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mprefer-vector-width=512

core-check: $(VARIANTS:%=build/core/%/driver)
	@for variant in $(VARIANTS); do echo "$$variant:"; build/core/$$variant/driver || exit 1; done

# the yardstick of benchmarks/roofline.py
build/core/peak: cpp/peak.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O3 -Wall -Wextra -march=native $< -o $@

define variant_rules
build/core/$(1)/driver: $(addprefix build/core/$(1)/,driver.o forest.o shard.o evaluate.o \
  $(KERNELS:%=kernel_%.o) $(KERNELS:%=evaluate_kernel_%.o))
	$(CXX) $(CORE_FLAGS) $(FLAGS_$(1)) $$^ -o $$@

build/core/$(1)/kernel_%.o: cpp/kernel.cpp $(wildcard cpp/*.hpp)
	@mkdir -p $$(@D)
	$(CXX) $(CORE_FLAGS) $(FLAGS_$(1)) $$(KERNEL_$$*) -DPYSIRUS_ISA=$$* -c $$< -o $$@

build/core/$(1)/evaluate_kernel_%.o: cpp/evaluate_kernel.cpp $(wildcard cpp/*.hpp)
	@mkdir -p $$(@D)
	$(CXX) $(CORE_FLAGS) $(FLAGS_$(1)) $$(KERNEL_$$*) -DPYSIRUS_ISA=$$* -c $$< -o $$@

build/core/$(1)/%.o: cpp/%.cpp $(wildcard cpp/*.hpp)
	@mkdir -p $$(@D)
	$(CXX) $(CORE_FLAGS) $(FLAGS_$(1)) -c $$< -o $$@
endef
$(foreach variant,$(VARIANTS),$(eval $(call variant_rules,$(variant))))
