# Everything runs from a virtual environment of its own: Python, make and a package registry are enough.
VENV := .venv
PYTHON := $(VENV)/bin/python
# Where bytecode may not be kept, every worker process that a test starts compiles all of its modules anew.
unexport PYTHONDONTWRITEBYTECODE
INSTALLED := $(VENV)/.installed

.PHONY: demo test check format lock histories clean

demo: $(INSTALLED) ## The whole path on embedded parts; KEEP=1 stops at the pause and leaves everything running
	@$(PYTHON) -m worker.demo $(if $(KEEP),--keep)

test: $(INSTALLED) ## All tests; ARGS="tests/workflows -k pause" for some
	$(PYTHON) -m pytest -n auto --dist worksteal $(ARGS)

check: $(INSTALLED) ## Format, lint, types
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

format: $(INSTALLED) ## Format and fix what can be fixed
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

histories: $(INSTALLED) ## Record the histories that the replay tests read anew
	$(PYTHON) -m tests.workflows.record_histories

lock: ## Pin versions anew; needs uv
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url -o requirements.lock
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url -o requirements-dev.lock

clean:
	rm -rf $(VENV) .turnhold .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(INSTALLED): requirements-dev.lock
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@
