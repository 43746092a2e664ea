# The verbs of the house. Every one installs what it needs first (tools/setup.sh) and can be run
# again at any time; presets are in CMakePresets.json, build folders are build/<preset>.
SHELL := /bin/bash
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
PRESET ?= cpu
FUZZ_SECONDS ?= 300
GPUS ?= here
BUILD := build/$(PRESET)
# One test more than there are cores, as many wait for clocks and servers. Each has one thread, unless
# it says how many, and none spins: the core is another test's. make nightly leaves the defaults.
CTEST_THREADS := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
CTEST_IN := tools/in_memory.sh
CTEST = $(CTEST_THREADS) $(CTEST_IN) ctest --test-dir $(BUILD) --output-on-failure -j $$(($(JOBS) + 1)) --no-tests=error --output-junit tests.xml --test-output-size-passed 20000

.PHONY: help quickstart check build test quick one nightly sanitize fuzz format bench golden install \
        layers hooks cuda check-cuda install-deps install-check install-cuda configure

help: ## this list
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

quickstart: build ## fine-tune SmolLM2-135M on real text in a few minutes, before and after
	@tools/quickstart.sh

build: configure hooks ## build/hone
	@nice ninja -C $(BUILD) -j $(JOBS) hone
	@ln -sfn $(PRESET)/bin/hone build/hone
	@echo "build/hone is ready"

check: install-check layers configure ## install what tests need, build all, run every test
	@nice ninja -C $(BUILD) -j $(JOBS)
	@ln -sfn $(PRESET)/bin/hone build/hone
	@$(CTEST) -LE nightly

install: build ## hone with completion and manual pages, libhone and its header into PREFIX (/usr/local); DESTDIR is respected
	@nice ninja -C $(BUILD) -j $(JOBS) libhone $$(ninja -C $(BUILD) -t targets all | sed -n 's/^\(hone_arrow_module\): .*/\1/p')
	@cmake --install $(BUILD) --prefix $(or $(PREFIX),/usr/local) >build/install.log || { cat build/install.log; exit 1; }
	@echo "installed in $(DESTDIR)$(or $(PREFIX),/usr/local)"

test: configure ## build and run every test but the nightly ones
	@nice ninja -C $(BUILD) -j $(JOBS)
	@$(CTEST) -LE nightly

quick: configure ## the tests that take seconds
	@nice ninja -C $(BUILD) -j $(JOBS)
	@$(CTEST) -LE 'slow|nightly'

one: configure ## the tests whose name matches TEST=regex
	@nice ninja -C $(BUILD) -j $(JOBS)
	@$(CTEST) -R '$(TEST)'

cuda: install-cuda build ## build/hone, what --device cuda needs beside NVIDIA's driver, and the kernels for the GPUS (here, or sm_80,sm_90)
	@build/hone doctor --compile_kernels $(GPUS) >/dev/null

check-cuda: install-cuda layers configure ## on a machine with an NVIDIA GPU: its tests, and times against Transformers (BENCH=no: without)
	@nice ninja -C $(BUILD) -j $(JOBS)
	@ln -sfn $(PRESET)/bin/hone build/hone
	@PRESET=$(PRESET) tools/check_cuda.sh

nightly: CTEST_THREADS :=
nightly: CTEST_IN :=
nightly: install-check configure ## every test, the long loops and all sanitizers too, FUZZ_SECONDS (300) of each fuzzer, a scratch copy that grows
	@nice ninja -C $(BUILD) -j $(JOBS)
	@$(CTEST)
	@HONE_UNITY=OFF tools/sanitize.sh asan  # has ubsan in it
	@tools/sanitize.sh tsan
	@tools/sanitize.sh asan --ranks
	@tools/sanitize.sh tsan --ranks
	@tools/fuzz.sh $(FUZZ_SECONDS)
	@tools/scratch_add.sh

sanitize: install-check ## unit tests under PRESET=asan, ubsan or tsan
	@tools/sanitize.sh $(if $(filter cpu,$(PRESET)),asan,$(PRESET))

fuzz: ## a minute of each fuzzer
	@tools/fuzz.sh 60

format: install-check ## clang-format, in place
	@tools/format

bench: build ## paired step time and memory against the peer (bench/README.md)
	@bench/run.sh

golden: ## make the golden files of tests/goldens again with PyTorch and Transformers
	@tools/golden.sh $(MODEL)

layers: install-deps ## the order of rooms, file sizes, error pages, words
	@python3 tools/check_layers.py
	@python3 tools/check_words.py

hooks: ## git looks at each commit's files (tools/hooks/pre-commit); make build does it too
	@test -n "$$CI" || git config --get core.hooksPath >/dev/null || git config core.hooksPath tools/hooks || true

install-deps:
	@tools/setup.sh build

install-check:
	@tools/setup.sh check

install-cuda:
	@tools/setup.sh cuda

configure: install-deps
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET) >build/configure.log || \
	  { cat build/configure.log; exit 1; }
