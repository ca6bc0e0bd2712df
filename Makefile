# make demo     run the main job on the bundled example
# make test     run the tests
# make lint     check style, types and known vulnerabilities
# make docs     build the docs, docs/_build/index.html; broken references fail
# make page     build the report page from web/ into src/mhpc/report/page.html (needs node)
# make stress   kill runs and workers, fill disks, damage files, fuzz; ten minutes, figures at the end
# make mutate   put small faults into the numerics: do the tests notice?
# make wheel    build the package, install it alone on every Python found, run every command
# make versions run the tests on every Python found: python3.11, python3.12, … or those in PYTHONS
# make lowest   run the tests with the lowest stated versions of all requirements
# make integration  run a review in a real Label Studio server, and the SDKs of Label Studio and Argilla
# make bench    measure speed and quality beside peers; JSON in benchmarks/results/

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint audit docs stress mutate wheel versions lowest integration page page-check bench clean

demo: $(VENV)/installed
	$(BIN)/mhpc demo

test: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 $(PYTEST_ARGS)

lint: $(VENV)/installed-dev audit
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Known vulnerabilities of the requirements; says so where the registry has no advisories.
audit: $(VENV)/installed-dev
	$(BIN)/pip check
	$(BIN)/python -m tools.audit

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -b html -W --keep-going -n -q -E docs docs/_build
	@echo "docs/_build/index.html"

page: web/dist/index.html
	cp $< src/mhpc/report/page.html

page-check: web/dist/index.html
	cd web && npm run --silent check
	cmp $< src/mhpc/report/page.html || { echo "page.html differs from what web/ builds; run make page"; exit 1; }

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks.speed.solve
	$(BIN)/python -m benchmarks.speed.metrics
	$(BIN)/python -m benchmarks.speed.peers
	$(BIN)/python -m benchmarks.speed.taxonomies
	$(BIN)/python -m benchmarks.speed.readers
	$(BIN)/python -m benchmarks.speed.neighbors
	$(BIN)/python -m benchmarks.speed.ontology
	$(BIN)/python -m benchmarks.speed.cluster
	$(BIN)/python -m benchmarks.speed.scale
	$(BIN)/python -m benchmarks.quality.real
	$(BIN)/python -m benchmarks.quality.methods
	$(BIN)/python -m benchmarks.quality.auto
	$(BIN)/python -m benchmarks.quality.stacking
	$(BIN)/python -m benchmarks.quality.landmarks
	$(BIN)/python -m benchmarks.quality.ablation
	$(BIN)/python -m benchmarks.quality.readings
	$(BIN)/python -m benchmarks.quality.generators
	$(BIN)/python -m benchmarks.quality.reliability
	$(BIN)/python -m benchmarks.quality.denials
	$(BIN)/python -m benchmarks.quality.gold
	$(BIN)/python -m benchmarks.quality.review
	$(BIN)/python -m benchmarks.quality.contributions
	$(BIN)/python -m benchmarks.quality.decisions
	$(BIN)/python -m benchmarks.quality.review_accuracy

stress: $(VENV)/installed-fuzz
	$(BIN)/python -m stress

mutate: $(VENV)-mutate/installed
	$(VENV)-mutate/bin/python -m stress.mutation $(MUTATE_ARGS)

wheel: $(VENV)/installed-package
	$(BIN)/python -m tools.wheel

versions:
	$(PYTHON) -m tools.versions $(PYTEST_ARGS)

lowest: $(VENV)-lowest/installed
	$(VENV)-lowest/bin/pytest -n 2 --ignore tests/browser $(PYTEST_ARGS)

# Label Studio pins many packages, so it has an environment of its own.
integration: $(VENV)-integration/installed
	$(VENV)-integration/bin/pytest -m integration tests/integration $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-mutate $(VENV)-integration $(VENV)-3.* mutants mhpc-demo docs/_build docs/figures/made web/node_modules web/dist

# The marks record what is installed, so that a second call installs nothing.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/installed-dev: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e .[dev]
	touch $@ $(VENV)/installed

$(VENV)/installed-docs: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e .[docs]
	touch $@ $(VENV)/installed

$(VENV)/installed-bench: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e .[dev,bench]
	touch $@ $(VENV)/installed-dev $(VENV)/installed

$(VENV)/installed-package: $(VENV)/installed-dev
	$(BIN)/pip install --quiet -c constraints.txt -e .[package]
	touch $@

$(VENV)-mutate/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-mutate
	grep -v '^pytest==' constraints.txt > $(VENV)-mutate/constraints.txt
	$(VENV)-mutate/bin/pip install --quiet -c $(VENV)-mutate/constraints.txt -e .[dev,mutate]
	touch $@

$(VENV)-lowest/installed: pyproject.toml tools/lowest.py
	$(PYTHON) -m venv $(VENV)-lowest
	$(PYTHON) tools/lowest.py > $(VENV)-lowest/lowest.txt
	$(VENV)-lowest/bin/pip install --quiet -c $(VENV)-lowest/lowest.txt -e .[dev]
	touch $@

$(VENV)-integration/installed: pyproject.toml tests/integration/requirements.txt
	$(PYTHON) -m venv $(VENV)-integration
	$(VENV)-integration/bin/pip install --quiet --upgrade pip
	$(VENV)-integration/bin/pip install --quiet -e . -r tests/integration/requirements.txt
	touch $@

$(VENV)/installed-fuzz: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e .[dev,fuzz]
	touch $@ $(VENV)/installed-dev $(VENV)/installed

WEB := $(shell find web/src -type f) $(wildcard web/*.html web/*.js web/*.json)

web/node_modules/installed: web/package.json web/package-lock.json
	cd web && npm install --no-save --silent
	touch $@

web/dist/index.html: web/node_modules/installed $(WEB)
	cd web && npm run --silent build
