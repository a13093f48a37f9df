# Everything runs in .venv, which is built here; nothing but Python >= 3.11 and make is needed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BOM := build/bom
RUNNER_AGENT ?= path
WORKERS ?= auto
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo test tests unit lint storm images-test cloud-image-test dist dist-test binary \
  reference docs bench clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

setup: $(STAMP) ## Build the virtual environment

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "runner needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(STAMP) ## Run the main job on the bundled example, without a key
	$(BIN)/runner demo

# What checks its documents slows every start of the agent's SDK that shares an environment with it.
$(BOM)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BOM)
	$(BOM)/bin/python -m pip install --quiet --constraint constraints.txt cyclonedx-bom
	@touch $@

lint: $(STAMP) ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint docker/Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker/compose.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/zizmor --offline --quiet .github action.yml

# Where the environment forbids compiled modules, each worker compiles all tests again.
unexport PYTHONDONTWRITEBYTECODE
# A process for each core, four at most: each has real agents of its own, which use more than one.
# tests/conftest.py says what stays together: tests that share a fixture.
SPREAD := --numprocesses $(WORKERS) --maxprocesses 4 --dist loadscope

test: $(STAMP) ## Lint and run the tests, beside each other (WORKERS=0: tests one after another)
	@$(MAKE) --no-print-directory --jobs 2 lint tests

tests: $(STAMP) # Without lint
	$(BIN)/python -m pytest $(SPREAD) --durations 10

unit: $(STAMP) ## Run the tests that start neither an agent nor another process of runner
	$(BIN)/python -m pytest $(SPREAD) -m 'not e2e and not process and not images and not dist' -q

storm: $(STAMP) ## The long crash, load and fuzz runs
	RUNNER_STORM=1 $(BIN)/python -m pytest -m storm

images-test: $(STAMP) ## Build and try the container images (root, Debian with buildah podman runc debootstrap)
	RUNNER_IMAGES=1 $(BIN)/python -m pytest -m images -rA tests/images

cloud-image-test: $(STAMP) ## Build a cloud image and boot it (root, Debian; minutes; RUNNER_KVM=1 where KVM works)
	RUNNER_CLOUD_IMAGE=1 $(BIN)/python -m pytest -m images -rA tests/images/test_cloud_image.py

dist: $(STAMP) $(BOM)/.installed ## Build wheel and sdist with a bill of materials and checksums
	rm -rf dist && mkdir dist
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv dist/.install
	dist/.install/bin/python -m pip install --quiet --constraint constraints.txt dist/*.whl
	$(BOM)/bin/cyclonedx-py environment --output-reproducible --of JSON -o dist/sbom.cdx.json dist/.install
	rm -rf dist/.install
	cd dist && sha256sum *.whl *.tar.gz *.json > SHA256SUMS

dist-test: dist ## Install wheel and sdist with pip, pipx and uv, and run the demo in each
	RUNNER_DIST=$(CURDIR)/dist $(BIN)/python -m pytest -m dist -rA tests/dist/test_installs.py

# An environment of its own, so that nothing of the development tools gets in.
binary: $(STAMP) $(BOM)/.installed ## Build the program for machines without Python, and run the demo from it
	rm -rf build/binary && $(PYTHON) -m venv build/binary/env && mkdir -p dist
	build/binary/env/bin/python -m pip install --quiet --constraint constraints.txt '.[binary]'
	RUNNER_AGENT=$(RUNNER_AGENT) build/binary/env/bin/pyinstaller --noconfirm --log-level WARN \
	  --distpath build/binary --workpath build/binary/work tools/binary/runner.spec
	RUNNER_BINARY=$(CURDIR)/build/binary/runner/runner \
	  $(BIN)/python -m pytest -m dist -rA tests/dist/test_binary.py
	name=runner-$$($(BIN)/runner --version | cut -d' ' -f2)-linux-$$(uname -m) && \
	  tar -C build/binary -czf dist/$$name.tar.gz runner && \
	  $(BOM)/bin/cyclonedx-py environment --output-reproducible --of JSON \
	    -o dist/$$name.cdx.json build/binary/env && \
	  cd dist && sha256sum $$name.tar.gz $$name.cdx.json > BINARY-SHA256SUMS

reference: $(STAMP) ## Write docs/reference/ anew from the code
	$(BIN)/python -m runner.cli.reference

docs: $(STAMP) ## Build the documentation site into build/site; a broken link fails
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	$(BIN)/python tools/navigation.py zensical.toml
	$(BIN)/zensical build --strict --clean

bench: $(STAMP) ## Print the benchmarks
	@for b in benchmarks/*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

clean: ## Remove what was built
	rm -rf $(VENV) dist build zensical.toml .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis
