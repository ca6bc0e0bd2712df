# make demo   the main job on the bundled example
# make test   the tests
# make lint   style and types
# make page   the report page, from web/ into src/mhpc/report/page.html (needs node)
# make hard   killed runs, damaged files, odd tables; ten minutes, the figures at the end
# make bench  speed and quality, peers in the same run; results as JSON in benchmarks/results/

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint hard page page-check bench clean

demo: $(VENV)/installed
	$(BIN)/mhpc demo

test: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 $(PYTEST_ARGS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

page: web/dist/index.html
	cp $< src/mhpc/report/page.html

page-check: web/dist/index.html
	cd web && npm run --silent check
	cmp $< src/mhpc/report/page.html || { echo "page.html is not what web/ builds; run make page"; exit 1; }

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks.speed.solve
	$(BIN)/python -m benchmarks.speed.metrics
	$(BIN)/python -m benchmarks.speed.peers
	$(BIN)/python -m benchmarks.speed.hierarchies
	$(BIN)/python -m benchmarks.speed.readers
	$(BIN)/python -m benchmarks.speed.neighbours
	$(BIN)/python -m benchmarks.speed.cluster
	$(BIN)/python -m benchmarks.speed.scale
	$(BIN)/python -m benchmarks.quality.methods
	$(BIN)/python -m benchmarks.quality.auto
	$(BIN)/python -m benchmarks.quality.ablation
	$(BIN)/python -m benchmarks.quality.reliability
	$(BIN)/python -m benchmarks.quality.decisions

hard: $(VENV)/installed-fuzz
	$(BIN)/python -m hard

clean:
	rm -rf $(VENV) mhpc-demo web/node_modules web/dist

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

$(VENV)/installed-bench: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e .[dev,bench]
	touch $@ $(VENV)/installed-dev $(VENV)/installed

$(VENV)/installed-fuzz: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet -c constraints.txt -e .[dev,fuzz]
	touch $@ $(VENV)/installed-dev $(VENV)/installed

WEB := $(shell find web/src -type f) $(wildcard web/*.html web/*.js web/*.json)

web/node_modules/installed: web/package.json web/package-lock.json
	cd web && npm install --no-save --silent
	touch $@

web/dist/index.html: web/node_modules/installed $(WEB)
	cd web && npm run --silent build
