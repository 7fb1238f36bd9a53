# Everything runs in the virtual environment .venv, which the first target that needs it sets up.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
CORE_SOURCES := CMakeLists.txt $(shell find cpp -type f)
SOURCES := $(CORE_SOURCES) pyproject.toml $(shell find src -type f -not -name '*.pyc')
# The core that the tests were compiled with is that of the module, too: it is compiled once.
CORE := build/tests-plain/libmarginloom_core.a
# The thread sanitizer of older compilers cannot live with much address randomisation; switch it off where allowed.
UNSHUFFLED := $(shell setarch -R true 2>/dev/null && echo setarch -R)
SANITIZE := sanitize-address,undefined sanitize-thread
DEMO_SENTENCES ?= 100000
FUZZ_CASES ?= 10000
FUZZ_SEED ?= 0
write_stubs = $(BIN)/python -m nanobind.stubgen -q -m marginloom._core -o $(1) && $(BIN)/ruff format -q $(1)

.PHONY: demo build test test-all fuzz sanitize $(SANITIZE) lint stubs format clean

demo: $(VENV)/.installed
	$(BIN)/python -m marginloom.tasks.sequence.datasets demo --sentences $(DEMO_SENTENCES)
	$(BIN)/marginloom train tag demo/train.conll --dev demo/dev.conll --test demo/test.conll \
		--model demo/model.safetensors --trace demo/trace.jsonl --threads -1

# All that the others compile and install. Where make may do two things at once, that keeps the cores busy: what takes
# longest comes first.
build: build/tests-address,undefined/core_tests $(VENV)/.installed-lint build/tests-plain/core_tests \
		$(SANITIZE:sanitize-%=build/tests-%/core_tests)

test: $(VENV)/.installed-test build/tests-plain/core_tests
	build/tests-plain/core_tests
	$(BIN)/python -m pytest -n auto --dist loadgroup

test-all: $(VENV)/.installed-test build/tests-plain/core_tests sanitize
	build/tests-plain/core_tests
	$(BIN)/python -m pytest -n auto --dist loadgroup -m ''

# Minutes, and not a part of the tests, which run a few hundred cases. The same again goes on where it was stopped.
fuzz: $(VENV)/.installed-test
	PYTHONPATH=tests $(BIN)/python -m fuzz --cases $(FUZZ_CASES) --seed $(FUZZ_SEED)

sanitize: $(SANITIZE)

$(SANITIZE): sanitize-%: build/tests-%/core_tests
	$(UNSHUFFLED) $<

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files '*.cpp' '*.hpp')
	$(call write_stubs,build/_core.pyi)
	diff -u src/marginloom/_core.pyi build/_core.pyi || { echo 'the types of the C++ module differ: run make stubs'; exit 1; }

# The types of the C++ module, as it says them itself.
stubs: $(VENV)/.installed-lint
	$(call write_stubs,src/marginloom/_core.pyi)

format: $(VENV)/.installed-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(git ls-files '*.cpp' '*.hpp')

clean:
	rm -rf $(VENV) build demo

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo 'Python 3.11 or later is needed, and there is none on the PATH; say PYTHON=...'; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet .
	touch $@

# In a folder of its own, since what CMake once was told of the core it remembers.
$(VENV)/.installed-test: $(VENV)/.tools-test $(CORE) $(SOURCES)
	$(BIN)/python -m pip install --quiet --config-settings=build-dir=build/tests-module \
		--config-settings=cmake.define.MARGINLOOM_CORE=$(abspath $(CORE)) .
	touch $@ $(VENV)/.installed

$(VENV)/.installed-lint: $(VENV)/.installed-test $(VENV)/.tools-lint
	touch $@

# Two pips at once would be in each other's way.
$(VENV)/.tools-lint: | $(VENV)/.installed-test

# The tools of an extra without the package, which '.[test]' would compile. Most of their modules are never imported: what
# is, Python compiles then.
$(VENV)/.tools-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
		print(*extras["$*"], sep="\n")' > $(VENV)/$*.txt
	$(BIN)/python -m pip install --quiet --no-compile -r $(VENV)/$*.txt
	touch $@

# The core's own tests: plain, and under the sanitizers that the folder's name says.
.PRECIOUS: build/tests-%/libmarginloom_core.a
build/tests-%/libmarginloom_core.a: $(CORE_SOURCES) | $(VENV)/.tools-test
	$(BIN)/cmake -S . -B build/tests-$* -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DMARGINLOOM_TESTS=ON \
		-DCMAKE_BUILD_TYPE=$(if $(filter plain,$*),Release,Debug) -DMARGINLOOM_SANITIZE=$(filter-out plain,$*) \
		--log-level=WARNING
	env -u MAKEFLAGS $(BIN)/cmake --build build/tests-$* --target marginloom_core -- --quiet
	touch $@

build/tests-%/core_tests: build/tests-%/libmarginloom_core.a $(shell find tests/cpp -type f)
	env -u MAKEFLAGS $(BIN)/cmake --build build/tests-$* -- --quiet
	touch $@
