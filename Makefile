.DEFAULT_GOAL := help
.PHONY: help run up down tokens test check bench deploy sam-local lock
SHELL := /bin/sh
.SHELLFLAGS := -eu -c

STAGE ?= dev
PYTHON := .venv/bin/python
SAM := .local/tools/sam/bin/sam
# Set-up is done once and again whenever what it is made from changes.
APP := .venv/.ready
TOOLS := .local/tools/sam/.ready .local/tools/emulator/.ready
CONSOLE := functions/console/static/index.html

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(APP) $(TOOLS) $(CONSOLE) ## start the local stack in front, deploy, seed; Ctrl-C stops all of it
	@exec $(PYTHON) -m local run

up: $(APP) $(TOOLS) $(CONSOLE) ## the same in the background
	@$(PYTHON) -m local up

down: $(APP) ## stop what `make up` started; the data stays
	@$(PYTHON) -m local down

tokens: $(APP) ## fresh tokens of alice, bob and admin in .local/stack.json
	@$(PYTHON) -m local tokens

check: $(APP) ## format, lint, types, import rules, template, unit tests with coverage
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	PYTHONPATH=layers/core:. .venv/bin/lint-imports --no-logo
	$(PYTHON) -m pytest -q -n 2 --cov --cov-report=term tests/unit tests/template

test: $(APP) $(TOOLS) $(CONSOLE) ## every test, on a stack of its own
	@local/setup.sh browser
	$(PYTHON) -m pytest -q $(TESTS)

bench: $(APP) ## bench/replay.py on the running stack: make bench ARGS="FILE --conversation 0"
	$(PYTHON) bench/replay.py $(ARGS)

deploy: .local/tools/sam/.ready $(CONSOLE) ## build and deploy to AWS: make deploy STAGE=dev
	PATH="$(CURDIR)/.local/tools/sam/bin:$$PATH" $(SAM) build --config-env $(STAGE)
	$(SAM) deploy --config-env $(STAGE)

sam-local: .local/tools/sam/.ready $(CONSOLE) ## serve the functions with `sam local start-api` (needs Docker)
	@docker info >/dev/null 2>&1 || { echo "missing: Docker (sam local runs functions in containers; make run needs none)"; exit 1; }
	PATH="$(CURDIR)/.local/tools/sam/bin:$$PATH" $(SAM) build --config-env local
	$(SAM) local start-api --config-env local

lock: $(APP) ## resolve the dependencies of pyproject.toml anew (needs uv)
	$(PYTHON) local/lock.py

.venv/.ready: requirements.lock
	@local/setup.sh app
	@touch $@

.local/tools/%/.ready: local/tools-%.txt
	@local/setup.sh $*
	@touch $@

functions/console/static/index.html: $(shell find console -type f -not -path '*/node_modules/*' 2>/dev/null)
	@local/setup.sh console
	@touch $@
