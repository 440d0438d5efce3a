.DEFAULT_GOAL := help
.PHONY: help run up down tokens opensearch test check bench deploy sam-local docs lock
SHELL := /bin/sh
.SHELLFLAGS := -eu -c

STAGE ?= dev
DO ?= start
EVENT ?= events/accounts.json
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

check: $(APP) $(CONSOLE) ## format, lint, types, import rules, template, unit tests with coverage
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	PYTHONPATH=layers/core:. .venv/bin/lint-imports --no-logo
	npm --prefix console run --silent check
	$(PYTHON) -m pytest -q -n 2 tests/template
	$(PYTHON) -m pytest -q -n 2 --cov --cov-report=term tests/unit

opensearch: $(APP) ## a real OpenSearch on 127.0.0.1:9290, its address printed; DO=stop ends it
	@$(PYTHON) -m local.opensearch $(DO) --port 9290

test: $(APP) $(TOOLS) $(CONSOLE) ## every test, on a stack of its own
	@local/setup.sh browser
	$(PYTHON) -m pytest -q $(TESTS)

bench: $(APP) ## bench/replay.py on the running stack: make bench ARGS="FILE --conversation 0"
	$(PYTHON) bench/replay.py $(ARGS)

deploy: .local/tools/sam/.ready $(CONSOLE) ## build and deploy to AWS: make deploy STAGE=dev
	PATH="$(CURDIR)/.local/tools/sam/bin:$$PATH" $(SAM) build --config-env $(STAGE)
	$(SAM) deploy --config-env $(STAGE)

sam-local: $(APP) .local/tools/sam/.ready ## one function in a container, on the data of `make up`: EVENT=events/memories.json
	@$(PYTHON) -m local sam-local $(EVENT)

docs: $(APP) ## write docs/openapi.json and docs/errors.md anew from the code
	@PYTHONPATH=layers/core $(PYTHON) -m local.docs

lock: $(APP) ## resolve the dependencies of pyproject.toml anew (needs uv)
	$(PYTHON) local/lock.py
	@local/setup.sh app

.venv/.ready: requirements.lock
	@local/setup.sh app
	@touch $@

.local/tools/%/.ready: local/tools-%.txt
	@local/setup.sh $*
	@touch $@

functions/console/static/index.html: $(shell find console -type f -not -path '*/node_modules/*' 2>/dev/null)
	@local/setup.sh console
	@touch $@
