# `make run` and `make test` need git, make and Python 3.11 to 3.13 with venv; nothing else.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# 3.12 and 3.11 first: the Redis wheel of the embedded default stops there.
# The first Python that runs (a version manager's shim may exist and refuse) and is of a supported version.
ifeq ($(origin PYTHON), undefined)
PYTHON := $(shell for name in python3.12 python3.11 python3.13 python3; do \
	"$$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' >/dev/null 2>&1 && echo "$$name" && break; \
	done)
endif

VENV := .venv/bin/python
SERVERS := $(VENV) -m healthsvc.runtime.test_servers --
PROCESSES ?= 3
TESTS ?=

.PHONY: help run manage test check soak bench lock clean python venv-run venv-dev

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

run: venv-run ## everything in the foreground: servers, both addresses, worker, beat, simulator
	@exec $(VENV) manage.py up

manage: venv-run ## a management command on what `make run` runs: make manage ARGS="key_list"
	@exec $(VENV) -m healthsvc.runtime.attach -- $(VENV) manage.py $(ARGS)

test: venv-dev ## the whole suite on servers of its own: TESTS=tests/users narrows it, PROCESSES=3
	@exec $(SERVERS) $(VENV) -m pytest -n $(PROCESSES) --maxschedchunk=16 $(TESTS)

check: venv-dev ## lint, format, types, import layers, migrations, OpenAPI snapshot
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check .
	$(VENV) -m mypy .
	$(VENV) -c 'from importlinter.cli import lint_imports_command; lint_imports_command()'
	$(SERVERS) $(VENV) manage.py makemigrations --check --dry-run
	$(SERVERS) $(VENV) manage.py openapi_snapshot --check

soak: venv-dev ## what takes minutes: kill tests and long runs
	@exec $(SERVERS) $(VENV) -m bench.soak

bench: venv-dev ## measurements, printed as ratios
	@exec $(SERVERS) $(VENV) -m bench.run

lock: venv-dev ## compile the requirements again
	@for name in base run dev; do \
		echo "requirements/$$name.lock"; \
		$(VENV) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
			--no-emit-index-url "requirements/$$name.in" --output-file "requirements/$$name.lock" || exit 1; \
	done

clean: ## remove caches; data in var/ and .venv/ stay
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis static-root test-screenshots
	find . -path ./.venv -prune -o -path ./var -prune -o -type d -name __pycache__ -print | xargs rm -rf

python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "No Python 3.11, 3.12 or 3.13 that runs was found. Install one, or name it: make run PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi

venv-run: python
	@"$(PYTHON)" -I healthsvc/runtime/venv.py requirements/run.lock

venv-dev: python
	@"$(PYTHON)" -I healthsvc/runtime/venv.py requirements/dev.lock
