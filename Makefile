# Commands for users and developers; `make help` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
CLUSTER := $(PYTHON) -m tools.cluster
CRD := crds/quantumtrainingjobs.quantumtraining.dev.yaml
STUDY_CRD := crds/quantumtrainingstudies.quantumtraining.dev.yaml
API_DOCS := docs/reference/api.md
STUDY_DOCS := docs/reference/study-api.md
DISTRIBUTIONS := operator/qtj_contract operator/qtj_operator operator/qtj_report trainer/qtj_simulator trainer/qtj_trainer .
EDITABLE := $(DISTRIBUTIONS:%=-e ./%)
NODES ?= 1
E2E ?=
# A person at a terminal sees how far an installation has come.
QUIET := $(shell [ -t 2 ] || echo -q)
# Tests side by side: more than four TensorFlow programs at once would fill a laptop's memory.
WORKERS ?= auto
PYTEST = $(BIN)/pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal --durations 20
# Everything pure, and the controller: its tests with an API server have the mark `api_server`.
CORE := tests/api tests/cluster tests/controller tests/core tests/manifests tests/study tests/tools
# Builds the Go programs of a stage. A machine without Go (exit code 2) says which tests do not run; in CI that is a failure.
PROGRAMS = $(CLUSTER) tools --for $(1) || { [ $$? = 2 ] && [ -z "$${CI:-}" ]; } || exit 1

# Installs the Debian package $(2) unless one of the programs $(1) is here. Tests that need it name what is missing.
debian = command -v $(1) > /dev/null || ! command -v apt-get > /dev/null \
  || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(2); } > /dev/null 2>&1 || [ -z "$${CI:-}" ]

# kubectl and the kubeconfig of the test cluster, for the targets that talk to it.
IN_CLUSTER = eval "$$($(CLUSTER) env)" &&

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

##@ The product on this machine

.PHONY: demo
demo: $(STAMP) ## Train the example with two workers, infer, and draw it: needs Python and make
	@$(BIN)/qtj run examples/qcnn.yaml
	@$(BIN)/qtj report qcnn

.PHONY: examples
examples: $(STAMP) ## Every example to its end on this machine
	@$(BIN)/python -m tests.examples

##@ The product on a cluster of its own

.PHONY: cluster-demo
cluster-demo: cluster images $(STAMP) ## Cluster, images, operator, and the example followed live to the inference result
	@$(IN_CLUSTER) $(BIN)/python -m tests.e2e.demo
	@echo && $(CLUSTER) hint

.PHONY: argocd-demo
argocd-demo: cluster images $(STAMP) ## Jobs from Git: the real Argo CD on that cluster, with the example of docs/gitops.md; Ctrl-C ends it
	@$(IN_CLUSTER) $(BIN)/python -m tests.e2e.argocd_demo
	@echo && $(CLUSTER) hint

.PHONY: cluster
cluster: ## Start a real Kubernetes on this machine (root, Go, no Docker), NODES=2 for two nodes; prints how to use it
	@$(CLUSTER) up --nodes $(NODES)
	@$(if $(filter cluster,$(MAKECMDGOALS)),$(CLUSTER) hint)

.PHONY: cluster-down
cluster-down: ## Stop it, and leave nothing behind but the cache
	@$(CLUSTER) down

.PHONY: images
images: $(STAMP) ## Build the images that changed and load them into the cluster
	@$(CLUSTER) images

.PHONY: e2e
e2e: NODES = 2
e2e: cluster images $(STAMP) ## End-to-end tests on that cluster, with two nodes; E2E="kill drain --repeat 3" for some of them
	@$(IN_CLUSTER) $(BIN)/python -m tests.e2e $(E2E)

##@ Tests

.PHONY: check
check: $(STAMP) ## In two minutes: style, layers, types, everything pure, and the controller without an API server
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=line lint types test-core

.PHONY: test
test: $(STAMP) ## Everything: check, faults, the trainer, the command, the cluster and e2e; tools and images are built meanwhile
	@$(PYTHON) -m tools.suite test

.PHONY: test-long
test-long: $(STAMP) ## What is rare or takes long, in two parts of at most 150 minutes (SHARD=1/2 for one of them)
	@$(PYTHON) -m tools.suite long --shard "$(SHARD)"

SHARD ?=

# What the later stages of `make test` need. What fails here fails again, with its words, in the stage that needs it.
.PHONY: prefetch
prefetch: $(STAMP)
	-$(MAKE) packages
	-$(CLUSTER) tools --for trainer
	-$(CLUSTER) tools --for unit
	-$(CLUSTER) tools --for cluster
	-$(CLUSTER) images

.PHONY: long-tests long-lives long-soak long-e2e
long-tests: $(STAMP) packages
	@which qemu-aarch64-static aarch64-linux-gnu-gcc clang > /dev/null 2>&1 || ! command -v apt-get > /dev/null \
	  || apt-get install -y -qq --no-install-recommends clang gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static > /dev/null
	@for stage in unit trainer long; do $(call PROGRAMS,$$stage); done
	@$(MAKE) .venv-docs/installed || [ -z "$${CI:-}" ]
	@$(MAKE) .venv-torch/installed || [ -z "$${CI:-}" ]
	@$(MAKE) .venv-pennylane/installed || [ -z "$${CI:-}" ]
	$(BIN)/pytest -m slow --timeout 1800 --durations 20

long-lives: $(STAMP)
	$(BIN)/python -m tests.faults --every-fault
	$(BIN)/python -m tests.faults --lives 2000

long-soak: $(STAMP)
	PYTHONPATH=. $(BIN)/python -m bench.scale.soak

# What `make test` has run once is not run again, but for the fault whose moment is drawn by chance.
long-e2e:
	$(MAKE) test-cluster E2E="drain-inference lost-inference pressed-node elastic outage dead-lock gitops on-call study-life"
	$(MAKE) test-cluster E2E="operator --repeat 4"

.PHONY: lint
lint: $(STAMP) ## Style, layers, and whether generated files are up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/qtj crd --check $(CRD)
	$(BIN)/qtj crd --docs --check $(API_DOCS)
	$(BIN)/qtj crd --study --check $(STUDY_CRD)
	$(BIN)/qtj crd --study --docs --check $(STUDY_DOCS)
	$(BIN)/python -m tools.reference --check
	$(BIN)/python -m tools.release check
	$(BIN)/python deploy/monitoring/dashboard.py --check
	$(BIN)/python -m tools.gitops.references --check

.PHONY: check-workflows
check-workflows: ## The workflows of .github, with actionlint (needs Go); `make test-command` does it too
	@$(CLUSTER) tools workflows
	@$(PYTHON) -m tools.release.workflows

.PHONY: types
types: $(STAMP) ## Static types
	$(BIN)/mypy

.PHONY: test-core
test-core: $(STAMP)
	$(PYTEST) -m "not slow and not api_server" $(CORE)

.PHONY: test-command
# Many of these tests wait for an API server, a lease or a program that has to end: one worker more than processors.
test-command: WORKERS = $(shell echo $$(($$(nproc 2> /dev/null || echo 2) + 1)))
test-command: $(STAMP) packages ## Tests of what runs programs: the command, installs, docs, releases, and the controller with an API server
	@$(call PROGRAMS,unit)
	@$(MAKE) .venv-docs/installed || [ -z "$${CI:-}" ]
	$(PYTEST) -m "not slow and not core" --ignore=tests/trainer

.PHONY: packages
packages:
	@for name in shellcheck zsh fish mandoc; do $(call debian,$$name,$$name); done
	@$(call debian,chromium google-chrome chromium-browser,chromium)

.PHONY: test-faults
test-faults: $(STAMP) ## The whole controller with faults at its writes, at events and between passes, and random lives
	$(BIN)/python -m tests.faults

.PHONY: mutation
mutation: $(STAMP) ## Break the decisions in every small way, and count what the tests notice (up to an hour)
	nice -n 19 $(BIN)/python -m tools.mutation

.PHONY: coverage
coverage: $(STAMP) ## What the unit and trainer tests run of the code, by file; fails below the floor (an hour)
	@for stage in unit trainer; do $(call PROGRAMS,$$stage); done
	rm -rf $(VENV)/coverage && mkdir $(VENV)/coverage
	$(BIN)/coverage run -m pytest -n auto --maxprocesses 4 --dist worksteal -m "not slow"
	$(BIN)/coverage combine -q
	$(BIN)/coverage report --sort=cover

.PHONY: test-trainer
test-trainer: $(STAMP) ## Tests of the trainer
	@$(call PROGRAMS,trainer)
	@$(MAKE) .venv-mlflow/installed || [ -z "$${CI:-}" ]
	$(PYTEST) -m "not slow" tests/trainer

.venv-mlflow/installed: requirements/mlflow.txt $(STAMP)
	$(BIN)/uv venv -q --python $(PYTHON) --clear .venv-mlflow
	$(BIN)/uv pip install -q --python .venv-mlflow/bin/python --require-hashes -r requirements/mlflow.txt
	@touch $@

# PyTorch alone, beside what $(VENV) has: its wheels for Linux bring the libraries of GPUs, 5 GB.
.venv-torch/installed: requirements/torch.txt $(STAMP)
	$(BIN)/uv venv -q --python $(BIN)/python --clear .venv-torch
	$(BIN)/uv pip install $(QUIET) --python .venv-torch/bin/python --require-hashes -r requirements/torch.txt
	@path='import sysconfig; print(sysconfig.get_path("purelib"))'; \
	  echo "import site; site.addsitedir('$$($(BIN)/python -c "$$path")')" > "$$(.venv-torch/bin/python -c "$$path")/rest.pth"
	@touch $@

# PennyLane's own tests of devices need plugins of pytest that change how all tests run.
.venv-pennylane/installed: requirements/pennylane.txt $(STAMP)
	$(BIN)/uv venv -q --python $(PYTHON) --clear .venv-pennylane
	$(BIN)/uv pip install -q --python .venv-pennylane/bin/python --require-hashes -r requirements/pennylane.txt
	$(BIN)/uv pip install -q --python .venv-pennylane/bin/python --no-deps -e ./operator/qtj_contract -e ./trainer/qtj_simulator
	@touch $@

.PHONY: test-cluster
test-cluster: $(STAMP)
	@if reason=$$($(CLUSTER) check 2>&1); then $(MAKE) e2e; \
	else echo "not run: the cluster and end-to-end tests, because $$reason"; [ -z "$${CI:-}" ]; fi

.PHONY: test-gpu
test-gpu: ## The trainer and the engine on the GPUs of this machine, with the figures; says so where there is none
	@if ! $(PYTHON) -m tests.gpu.present; then echo "not run: no GPU"; \
	else $(MAKE) .venv-gpu/installed && .venv-gpu/bin/pytest -q -s -p no:cacheprovider --timeout 300 tests/gpu/engine_on_gpus.py tests/gpu/on_gpus.py; fi

.PHONY: bench-gpu
bench-gpu: ## The engine on the first GPU beside all cores, and the goals (a minute; BENCH="--most-qubits 23" for less)
	@if ! $(PYTHON) -m tests.gpu.present; then echo "not run: no GPU"; \
	else $(MAKE) .venv-gpu/installed && PYTHONPATH=. .venv-gpu/bin/python -m bench.gpu $(BENCH); fi

.venv-gpu/installed: requirements/gpu.txt $(STAMP)
	$(BIN)/uv venv -q --python $(PYTHON) --clear .venv-gpu
	$(BIN)/uv pip install $(QUIET) --python .venv-gpu/bin/python --require-hashes -r requirements/dev.txt -r requirements/gpu.txt
	$(BIN)/uv pip install -q --python .venv-gpu/bin/python --no-deps $(EDITABLE)
	@touch $@

.PHONY: bench-engine
bench-engine: $(STAMP) .venv-bench/installed ## The fused engine beside four others (an hour; BENCH="--qubits 8 12" for less)
	PYTHONPATH=. $(BIN)/python -m bench.engine --other-python .venv-bench/bin/python $(BENCH)
	$(MAKE) bench-faces BENCH=

.PHONY: bench-faces
bench-faces: $(STAMP) .venv-torch/installed ## What PyTorch, JAX and PennyLane add to the engine's own calls (a minute; BENCH="--qubits 4 12" for less)
	PYTHONPATH=. .venv-torch/bin/python -m bench.faces $(BENCH)

.PHONY: bench-wide
bench-wide: $(STAMP) .venv-bench/installed ## Circuits of 26 to 30 qubits, time and memory, beside three others (hours; BENCH="--qubits 26 --layers 1" for less)
	PYTHONPATH=. $(BIN)/python -m bench.wide --other-python .venv-bench/bin/python $(BENCH)

.PHONY: bench-planning
bench-planning: $(STAMP) ## Planning circuits beside Cirq, one by one and together (minutes; BENCH="--qubits 8 12" for less)
	PYTHONPATH=. $(BIN)/python -m bench.planning $(BENCH)

.PHONY: bench-tfq
bench-tfq: $(STAMP) ## Programs of TensorFlow Quantum with the drop-in module and without (minutes; BENCH="--pixels 4 8" for less)
	PYTHONPATH=. $(BIN)/python -m bench.drop_in $(BENCH)

.PHONY: bench-scale
bench-scale: $(STAMP) ## Many jobs at once, beside a bare client and the operator of Kubeflow (hours; needs Go; BENCH="--sizes 100x4 --repeat 1" for less)
	PYTHONPATH=. $(BIN)/python -m bench.scale $(BENCH)
	PYTHONPATH=. $(BIN)/python -m bench.scale.large

.PHONY: bench-training
bench-training: $(STAMP) ## A training step beside the engine, and two workers beside one (half an hour; BENCH="--qubits 8" for less)
	PYTHONPATH=. $(BIN)/python -m bench.training $(BENCH)

.PHONY: bench-spot
bench-spot: $(STAMP) ## Lost worker to next step and cost of checkpoints on this machine, and simulated goodput on spot nodes (half an hour)
	PYTHONPATH=. $(BIN)/python -m bench.spot_here
	PYTHONPATH=. $(BIN)/python -m bench.spot $(BENCH)

.PHONY: bench-study
bench-study: $(STAMP) ## What a study costs beside the trainings that it consists of (minutes; BENCH="--trials 100" for the goal)
	PYTHONPATH=. $(BIN)/python -m bench.study $(BENCH)

.PHONY: bench-start
bench-start: $(STAMP) ## From `qtj run` to the first step, part by part (a minute; BENCH="--before FOLDER" for another checkout too)
	PYTHONPATH=. $(BIN)/python -m bench.start $(BENCH)

.venv-bench/installed: requirements/bench.txt $(STAMP)
	$(BIN)/uv venv -q --python $(PYTHON) --clear .venv-bench
	$(BIN)/uv pip install -q --python .venv-bench/bin/python --require-hashes -r requirements/bench.txt
	@touch $@

##@ Development

.PHONY: venv
venv: $(STAMP) ## Virtual environment with everything pinned

$(STAMP): requirements/dev.txt requirements/uv.txt pyproject.toml $(DISTRIBUTIONS:=/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' \
	  || { echo "$(PYTHON) is neither Python 3.11 nor 3.12: name one with make PYTHON=..." >&2; exit 2; }
	@echo "installing what requirements/dev.txt pins into $(VENV): some minutes, once"
	@# Debian's Python has no pip to put into a virtual environment, unless python3-venv is installed.
	@$(PYTHON) -m venv $(VENV) > /dev/null 2>&1 || $(PYTHON) -m venv --without-pip $(VENV)
	@pip="$(BIN)/python -m pip"; [ -x $(BIN)/pip ] || pip="$(PYTHON) -m pip --python $(BIN)/python"; \
	  $$pip install -q --disable-pip-version-check --require-hashes -r requirements/uv.txt \
	  || { echo "nothing could be installed: is there a network, and pip? (Debian: apt-get install python3-venv)" >&2; exit 2; }
	$(BIN)/uv pip install $(QUIET) --python $(BIN)/python --compile-bytecode --require-hashes -r requirements/dev.txt
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps $(EDITABLE)
	@touch $@

.PHONY: crds
crds: $(STAMP) ## Generate crds/ and the API reference from the models
	$(BIN)/qtj crd --output $(CRD)
	$(BIN)/qtj crd --docs --output $(API_DOCS)
	$(BIN)/qtj crd --study --output $(STUDY_CRD)
	$(BIN)/qtj crd --study --docs --output $(STUDY_DOCS)

.PHONY: reference
reference: $(STAMP) ## Generate the Python reference, the reference of the commands and the manual page qtj(1)
	$(BIN)/python -m tools.reference

.PHONY: notebook
notebook: $(STAMP) ## Run the notebook of the documentation, and write its outputs into it
	$(BIN)/python -m tools.docs.notebook

.PHONY: figures
figures: $(STAMP) ## Draw the figures of docs/studies.md from the results in docs/studies
	$(BIN)/python -m tools.docs.figures

.PHONY: dashboard
dashboard: $(STAMP) ## Generate the Grafana dashboard
	$(BIN)/python deploy/monitoring/dashboard.py

.PHONY: name-by-content
name-by-content: $(STAMP) ## Generate the list of fields that kustomize gives a digest, for jobs in Git
	$(BIN)/python -m tools.gitops.references

.PHONY: format
format: $(STAMP) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: version
version: $(STAMP) ## Make this checkout the version VERSION=1.2.3, with its changelog, and the CRD that later ones must fit
	$(BIN)/python -m tools.release prepare "$(VERSION)"

# Where the files of a release can be downloaded, for the manifest of krew.
REPOSITORY ?= https://github.com/OWNER/REPOSITORY

.PHONY: release
release: .venv-release/installed ## The files of a release, from this commit, into dist/, and all images (root, no Docker)
	@[ -z "$$(git status --porcelain)" ] || { echo "the checkout has changes that are not committed: commit them first" >&2; exit 2; }
	rm -rf dist
	@if reason=$$($(CLUSTER) check 2>&1); then \
	  $(CLUSTER) export dist/images --time "$$(git log -1 --format=%ct)"; \
	else echo "not built: the images, because $$reason"; fi
	@$(MAKE) dist

.PHONY: release-files
release-files: .venv-release/installed ## The same without the images
	rm -rf dist
	@$(MAKE) dist

.PHONY: dist
dist:
	$(PYTHON) -m tools.release.files dist --tools .venv-release/bin --repository "$(REPOSITORY)"

.PHONY: wheel
wheel: .venv-release/installed ## The wheels of all six distributions, those of simulator and trainer for this machine's processor, into dist/
	rm -rf dist
	$(PYTHON) -m pip --python .venv-release/bin/python wheel -q --no-deps --no-build-isolation -w dist $(DISTRIBUTIONS:%=./%)
	PATH=$(CURDIR)/.venv-release/bin:$$PATH auditwheel repair -w dist dist/*-linux_*.whl
	rm dist/*-linux_*.whl
	$(PYTHON) -m tools.release.wheel dist/*.whl

.venv-release/installed: requirements/release.txt
	$(PYTHON) -m venv --without-pip --clear .venv-release
	$(PYTHON) -m pip --python .venv-release/bin/python install -q --require-hashes --no-deps -r requirements/release.txt
	@touch $@

# UPGRADE=--upgrade takes the newest versions that pyproject.toml allows.
UPGRADE ?=
OWN := $(addprefix --no-emit-package quantumtrainingjob,'' -contract -operator -report -simulator -trainer)
COMPILE = $(BIN)/uv pip compile -q $(UPGRADE) --universal --python-version 3.11 --generate-hashes --no-header $(OWN)

.PHONY: docs
docs: .venv-docs/installed ## The documentation as a site, in site/; a broken link is an error
	@.venv-docs/bin/python -m tools.docs site
	@echo "site/index.html"

.venv-docs/installed: requirements/docs.txt $(STAMP)
	$(BIN)/uv venv -q --python $(PYTHON) --clear .venv-docs
	$(BIN)/uv pip install -q --python .venv-docs/bin/python --require-hashes -r requirements/docs.txt
	@touch $@

.PHONY: requirements
requirements: $(STAMP) ## Pin anew what pyproject.toml asks for (UPGRADE=--upgrade for newer versions)
	$(COMPILE) pyproject.toml --extra dev -o requirements/dev.txt
	$(COMPILE) operator/qtj_operator/pyproject.toml --extra cluster -c requirements/dev.txt -o requirements/operator.txt
	$(COMPILE) pyproject.toml --extra operator -c requirements/dev.txt -o requirements/command.txt
	@# Without the programs for GPUs, a third of TensorFlow: the image has none of the libraries that load them.
	sed -n 's/^ *"tensorflow\(==[0-9.]*\)",$$/tensorflow-cpu\1/p' trainer/qtj_trainer/pyproject.toml \
	  | $(COMPILE:--universal=--python-platform=x86_64-manylinux_2_28) trainer/qtj_trainer/pyproject.toml - \
	    --extra tensorflow --no-emit-package tensorflow -c requirements/dev.txt -o requirements/trainer.txt
	@# Without TensorFlow, newer versions fit than those of the extra.
	printf 'tensorboard==2.21.0\nxprof==2.24.2\ngcsfs\n' | $(COMPILE) - -o requirements/tensorboard.txt
	$(COMPILE) trainer/qtj_trainer/pyproject.toml --extra gpu -c requirements/dev.txt -o requirements/gpu.txt
	$(COMPILE) pyproject.toml --extra bench -o requirements/bench.txt
	@# What MLflow's server imports, for the tests. The package `mlflow` brings four times as much.
	printf 'aiohttp\nalembic\nflask\nflask-cors\ngraphene\nhuey\nmlflow-skinny>=3\nnumpy\nsqlalchemy\n' | $(COMPILE) - -o requirements/mlflow.txt
	@# What the simulator is tested with beside the versions that TensorFlow Quantum needs.
	printf 'cirq-core>=1.7\njax>=0.12\nnumpy>=2.5\n' | $(COMPILE:3.11=3.13) - -o requirements/newest.txt
	echo 'torch>=2.6' | $(COMPILE) - -c requirements/dev.txt -o requirements/torch.txt
	printf 'flaky\npytest\npytest-mock\npytest-xdist\n' | $(COMPILE) trainer/qtj_simulator/pyproject.toml --extra pennylane - \
	  -c requirements/dev.txt -o requirements/pennylane.txt
	echo 'hatchling==1.28.0' | $(COMPILE) - -c requirements/dev.txt -o requirements/build.txt
	printf 'furo\nmyst-parser>=5\nsphinx>=9\nsphinx-copybutton\n' | $(COMPILE) - -c requirements/dev.txt -o requirements/docs.txt
	printf 'hatchling==1.28.0\nauditwheel>=6\ncyclonedx-bom>=7\npatchelf\n' | $(COMPILE) - -c requirements/dev.txt -o requirements/release.txt

.PHONY: clean
clean: ## Remove the virtual environment and tool caches
	rm -rf $(VENV) .venv-bench .venv-docs .venv-gpu .venv-mlflow .venv-pennylane .venv-release .venv-torch site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis test-output
