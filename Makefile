# The two commands: `make demo` and `make test`. CMake does the building (presets in CMakePresets.json).
JOBS ?= $(shell nproc)
TESTS ?= $(shell expr $(JOBS) + 1) # at once: some wait
EP    = build/release/eigenpair

.PHONY: all help setup build demo test test-asan test-tsan test-matrix coverage install python test-python-peers bench bench-peers \
        bench-quality format check-format \
        check-layers check fuzz fuzz-long attack analyse docs clean

all: build

help:
	@echo "make demo          set up, build, and show what the program does"
	@echo "make test          set up, build, run all tests"
	@echo "make build         the program at $(EP)"
	@echo "make install       program, library, headers, pkg-config file, man pages (PREFIX=/usr/local)"
	@echo "make site          the documents and references as pages: build/site/index.html"
	@echo "make packages      a .deb and a .tar.gz; test-packages: both on a bare Debian 12 (needs root and the network)"
	@echo "make python        the Python module: build/eigenpair-*.whl; test-python-peers: beside PyPI's PyTorch, .."
	@echo "make bench         speed and memory against the physical limit; bench-peers: against PyTorch, JAX, scikit-learn (PEERS=--quick)"
	@echo "make bench-quality accuracy of representations without labels (SETS='mnist fashion cifar10', QUALITY='--seeds 0,1,2')"
	@echo "make bench-quality-peers  the same accuracies at equal time, beside PyTorch's SimCLR and scikit-learn"
	@echo "make bench-large   more data than memory: 1,000,000 images with --memory 1G (POINTS=1e6)"
	@echo "make format        clang-format; make check: format, layers, both compilers"
	@echo "make test-asan     the tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make test-matrix   tests and claims with other kernels of BLAS and ours, threads, seeds (hours; SHORT=--short: a minute or two)"
	@echo "make test-rows     a loss, a method and a map more, by one row each, in a copy of the sources"
	@echo "make check-arm     builds for arm64 and runs unit tests under qemu (200 MB of packages)"
	@echo "make test-mpi      the build for mpirun, on 1 to 4 ranks"
	@echo "make test-tsan     several runs in one process under ThreadSanitizer"
	@echo "make coverage      lines executed by the tests"
	@echo "make fuzz          a minute of fuzzing for each reader (SECONDS_EACH=60); fuzz-long: an hour in all"
	@echo "make attack        failed allocations, kills, torn writes, full disks, caps, corner cases (SHORT=--short: minutes)"
	@echo "make analyse       gcc -fanalyzer and clang-tidy on core, data and cli"
	@echo "make docs          runs every claim of the papers, writes docs/findings.md and docs/reproduce"

setup:
	@tools/setup.sh packages.txt

build: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) -- --no-print-directory --quiet

demo: build
	@$(EP) compare --data digits --augment shift:2,rotate:10 --outputs 64 --methods gd,pca --widths 100,300 --runs 1 \
	  --progress --out build/demo
	@echo "open     file://$(CURDIR)/build/demo/report.html"

test: build
	@ctest --preset release -j $(TESTS); status=$$?; tools/count.sh build/release; exit $$status

# the papers' claims put together what the other tests go through, pages are looked at by Chromium, which option is for what and how long
# a plan takes are words and sums: not again here
# (by gcc: clang's OpenMP, as Debian builds it, formats a line of debugging for every loop, ten times the time of a small one)
test-asan: setup
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan -j $(JOBS) -- --no-print-directory --quiet
	@ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:quarantine_size_mb=32 UBSAN_OPTIONS=print_stacktrace=1 ctest --preset asan -j $(TESTS) -E 'cli/claims|cli/choices|cli/plan|theory/reproduce|page/|docs/'; \
	  status=$$?; tools/count.sh build/asan; exit $$status

# the numerical tests and the claims with kernels of several processors, BLAS's and ours, one and two threads, several seeds:
# hours; SHORT=--short: a minute or two
test-matrix: build
	@tools/test_matrix.py build/release $(SHORT)

# several runs in one process. ThreadSanitizer does not know the OpenMP that OpenBLAS brings: what happens within libraries
# that were built without it is left out, and nothing else.
test-tsan: setup
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan -j $(JOBS) --target unit_test_run unit_test_crew -- --no-print-directory --quiet
	@TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1 build/tsan/tests/unit_test_run
	@TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1:die_after_fork=0 build/tsan/tests/unit_test_crew

.PHONY: test-rows
# a loss, a method and a map more, by one row each, in a copy of the sources
test-rows: setup
	@ROWS_BUILD=$(CURDIR)/build/rows JOBS=$(JOBS) PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/rows

.PHONY: test-mpi
# several ranks of one small problem each; more ranks than cores are fine (warnings as in `make check`: ccache has most of it then)
test-mpi: setup
	@tools/setup.sh packages-mpi.txt
	@cmake --preset mpi -DEP_WERROR=ON >/dev/null
	@cmake --build --preset mpi -j $(JOBS) --target ep_program -- --no-print-directory --quiet
	@ls tests/mpi/test_*.py | EIGENPAIR=$(CURDIR)/build/mpi/eigenpair PYTHONDONTWRITEBYTECODE=1 xargs -P $(JOBS) -n 1 /usr/bin/python3 -m pytest -q -p no:cacheprovider

.PHONY: check-arm
# for arm64, with Debian's cross-compiler and its packages in build/arm64/root; unit and gradient tests under qemu
check-arm:
	@tools/setup.sh packages-arm.txt
	@tools/arm_root.sh build/arm64/root
	@cmake --preset arm64 >/dev/null
	@cmake --build --preset arm64 -j $(JOBS) --target ep_program ep_c_tests -- --no-print-directory --quiet
	@EP_IN_QEMU=1 ctest --preset arm64 -j $(JOBS) -R '^(unit|grad)/'

coverage: setup
	@cmake --preset coverage >/dev/null
	@cmake --build --preset coverage -j $(JOBS) -- --no-print-directory --quiet
	-@ctest --preset coverage -j $(JOBS) # counters cannot be written in the tests of a full disk
	@tools/coverage.sh

# the papers' claims at the default size, as pages of docs/
docs: build
	@tools/docs.sh

install: build
	@cmake --install build/release --prefix $(or $(PREFIX),/usr/local)

# build/site/index.html: the documents, the options, C and Python as a site; every link is checked
.PHONY: site
site: build
	@/usr/bin/python3 tools/site.py $(EP) build/site

# build/release/packages: a .deb and a .tar.gz; test-packages installs and runs both on a bare Debian 12 (root, network)
.PHONY: packages test-packages
packages: build
	@cd build/release && cpack >packages.log || { cat packages.log; exit 1; }
	@ls build/release/packages/*.deb build/release/packages/*.tar.gz

test-packages: packages
	@tools/test_packages.sh build/release/packages

# the wheel build/eigenpair-*.whl, with Debian's packages alone
python: build
	@tools/wheel.sh build/release

# the module beside the newest packages of PyPI, in an environment of its own
test-python-peers: build
	@tools/python_peers.sh build/release

bench: build
	@cmake --build build/release -j $(JOBS) --target ep_bench -- --no-print-directory --quiet
	@build/release/bench

# what a user would run instead, from PyPI, in an environment of its own; PEERS=--quick: a few minutes
bench-peers: build
	@tools/bench_peers.sh build/release $(PEERS)

.PHONY: bench-large
# 1,000,000 images in a file of 784 MB, every command that reads such a file with --memory 1G
bench-large: build
	@bench/large.py build/release/eigenpair $(if $(POINTS),--points $(POINTS))

# data sets that are not there are fetched first: eigenpair data fetch cifar10
bench-quality: build
	@bench/quality.py $(SETS) $(QUALITY)

.PHONY: bench-quality-peers
# accuracy against time: ours beside SimCLR-style training and scikit-learn's maps, on the same cores (QUALITY='--data fashion --seconds 30,60')
bench-quality-peers: build
	@tools/setup.sh packages-peers.txt
	@bench/quality_peers.py $(QUALITY)

format:
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

check-format: setup
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format --dry-run -Werror
	@echo "format: clean"

check-layers:
	@tools/check_layers.sh

# gcc's is the build that is tested and shipped, clang's the one that is fuzzed: neither is built twice
check: check-format check-layers
	@cmake --preset release -DEP_WERROR=ON >/dev/null && cmake --build --preset release -j $(JOBS) -- --no-print-directory --quiet
	@cmake --preset fuzz >/dev/null && cmake --build --preset fuzz -j $(JOBS) -- --no-print-directory --quiet
	@echo "gcc and clang: no warning"

fuzz: setup
	@cmake --preset fuzz >/dev/null && cmake --build --preset fuzz -j $(JOBS) --target ep_fuzz -- --no-print-directory --quiet
	@JOBS=$(JOBS) tools/fuzz.sh

# 20 readers, six of them three times as long, as many at a time as there are cores
fuzz-long:
	@SEED=0 $(MAKE) fuzz SECONDS_EACH=$$((3600 * $(JOBS) / 32)) SECONDS_FILES=$$((3 * 3600 * $(JOBS) / 32))

# up to 2,000 places a command and 100 kills each, under an hour on two cores; then docs/reliability.md
attack: build
	@tools/attack.py build/release $(or $(SHORT),--write)

analyse: build
	@tools/analyse.py build/release

clean:
	@rm -rf build
