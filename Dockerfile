# syntax=docker/dockerfile:1
FROM python:3.11.15-slim-bookworm AS dependencies
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# The lock alone decides this layer: a change of our code installs nothing anew.
COPY requirements.lock ./
RUN python -m venv /opt/venv \
    && /opt/venv/bin/pip install --require-hashes --only-binary :all: --requirement requirements.lock

FROM python:3.11.15-slim-bookworm
RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir /app --shell /usr/sbin/nologin turnhold
COPY --from=dependencies /opt/venv /opt/venv
WORKDIR /app
COPY memory_engine/ memory_engine/
COPY activities/ activities/
COPY workflows/ workflows/
COPY worker/ worker/
# Bytecode is made here, because the user below may not write to it.
RUN /opt/venv/bin/python -m compileall -q memory_engine activities workflows worker
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER turnhold
# Healthy means that the Temporal server sees this container ask for work, not that a process exists.
HEALTHCHECK --interval=30s --timeout=15s --start-period=60s --retries=3 \
    CMD ["python", "-m", "worker.health"]
CMD ["python", "-m", "worker"]
