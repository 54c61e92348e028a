# Everything sets itself up: `make run` and `make test` are all that a fresh clone needs.
# Variables: ARGS (passed on), PYTHON (the interpreter to make .venv with), CUDA=yes|no (TensorFlow's CUDA libraries;
# by default where there is an NVIDIA driver).

.DEFAULT_GOAL := help
.PHONY: help run test whole quick check static bench setup install uninstall guide pictures dist wheel deb lock clean distclean
.NOTPARALLEL:

ARGS ?=
PYTHON ?=
CUDA ?= auto
export PYTHON CUDA

VENV_PYTHON := .venv/bin/python
PREPARE = python=$$(packaging/setup/find-python.sh) && "$$python" packaging/setup/prepare.py
# Byte code is kept whatever the shell says: else each worker, and each process of a test, would compile all source anew.
PYTEST = QT_QPA_PLATFORM=offscreen PYTHONDONTWRITEBYTECODE= $(VENV_PYTHON) -m pytest
# No more workers than fit into memory with a TensorFlow each; a file's tests stay together.
IN_PARALLEL = --maxprocesses=4 --dist=loadfile --no-loadscope-reorder
# Two more than cores, as some tests wait for a window or a process.
FOR_ALL = --numprocesses=$(shell expr $$(nproc) + 2)
# Typed as strictly as the program: all that the Makefile runs, and what the tests stand on.
SCRIPTS = packaging tests/support tests/benchmarks

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Open the window with a plan for this machine; without a display, train that plan here in the terminal
	@$(PREPARE) run
	@if [ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}" ]; then \
		exec $(VENV_PYTHON) -m gpu_studio $(ARGS); \
	else \
		exec $(VENV_PYTHON) -m gpu_studio train $(ARGS); \
	fi

# Beside the checks, which take one core, the tests are compiled, else each worker would compile all of them at its start,
# and so are the tables of letters that Hypothesis keeps; the library of the practice cards is built, for which tests would
# wait.
# What tests show at length is left to `make whole`, but where ARGS names them.
IN_SHORT = $(if $(GPU_STUDIO_WHOLE_PARITY)$(findstring tests/,$(ARGS)),,-m "not whole")
test: ## Check the source, then test every rule (about ten minutes on two cores)
	@$(PREPARE) test
	@{ $(PYTEST) --collect-only -qq -p no:cacheprovider; $(VENV_PYTHON) tests/support/fake_cards.py; \
	$(VENV_PYTHON) -c "from hypothesis.strategies import text; text().validate()"; } >/dev/null 2>&1 & \
	$(MAKE) --no-print-directory static; checked=$$?; wait; exit $$checked
	@$(PYTEST) $(FOR_ALL) $(IN_PARALLEL) $(IN_SHORT) $(ARGS)

# What is written into tests/export/proven.json belongs into the commit.
whole: ## Test every rule at length, too: all pairs of models and strategies, by real pointers, on real schedulers (more than an hour)
	@GPU_STUDIO_WHOLE_PARITY=1 $(MAKE) --no-print-directory test

# The tests of pages and charts take nearly as long as all others of these: they run where ARGS names them. Properties are
# tried with fewer examples than by `make test`.
WITHOUT_WINDOW = $(if $(findstring tests/,$(ARGS)),,--ignore=tests/ui)
quick: ## Run the tests that take about a minute together; those of the window's parts with ARGS=tests/ui
	@$(PREPARE) test
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-quick} $(PYTEST) --numprocesses=$(shell nproc) $(IN_PARALLEL) \
		-m "not slow and not window and not processes and not whole" $(WITHOUT_WINDOW) $(ARGS)

check: ## Check style, types, names, and who imports whom
	@$(PREPARE) check
	@$(MAKE) --no-print-directory static
	@$(PYTEST) -q -m "not slow" tests/test_imports.py tests/test_names.py tests/test_sizes.py

static:
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m mypy
	@$(VENV_PYTHON) -m mypy --exclude '/test_' $(SCRIPTS)

bench: ## Measure what the budgets speak of, each against its reference
	@$(PREPARE) test
	@QT_QPA_PLATFORM=offscreen $(VENV_PYTHON) tests/benchmarks $(ARGS)

setup: ## Make everything ready to run, the window included, and start nothing
	@$(PREPARE) window

install: ## Put GPU Studio into your desktop's menu, without root: it starts this source tree
	@$(PREPARE) window
	@$(VENV_PYTHON) -m gpu_studio desktop install $(ARGS)

uninstall: ## Take GPU Studio out of your desktop's menu again, and leave nothing behind
	@$(VENV_PYTHON) -m gpu_studio desktop remove $(ARGS)

guide: ## Write those pages of the guide anew that are made from the program
	@$(PREPARE) window
	@$(VENV_PYTHON) packaging/guide.py

pictures: ## Make the pictures of guide and README anew from the real window, which trains five plans
	@$(PREPARE) window
	@$(VENV_PYTHON) packaging/pictures.py
	@$(VENV_PYTHON) packaging/screenshots.py

wheel: ## Build the wheel into dist/; with ARGS=--practice one that brings the library of the practice cards
	@$(PREPARE) test
	@$(VENV_PYTHON) packaging/artefacts.py wheel $(ARGS)

dist: ## Build the wheel and the source archive into dist/: of one commit the same bytes each time
	@$(PREPARE) test
	@$(VENV_PYTHON) packaging/artefacts.py wheel sdist $(ARGS)

deb: ## Build a Debian package into dist/ that carries its environment; with ARGS=--cuda the CUDA libraries, too
	@$(PREPARE) test
	@$(VENV_PYTHON) packaging/deb.py $(ARGS)

lock: ## Renew packaging/locks from pyproject.toml (needs uv)
	@packaging/locks/renew.sh

clean: ## Remove what was built, and the tools' caches
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find gpu_studio tests packaging -type d -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## Remove the environment as well
	@rm -rf .venv .venv.lock
