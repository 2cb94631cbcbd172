"""Connecting to Temporal: by its standard environment variables and profile files, within ten seconds or with a reason."""

import asyncio
from typing import Any

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.service import RPCError, RPCStatusCode

from worker.converter import data_converter

CONNECT_SECONDS = 3.5
CHECK_SECONDS = 2.5


class CannotConnect(Exception):
    """There is no usable Temporal at the configured place; the message says which setting to look at."""


async def connect(**overrides: Any) -> Client:
    """A client for the configured address, namespace and key, with this project's payload converter.

    `TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS…` and `TEMPORAL_PROFILE` are read as the
    `temporal` CLI reads them. `overrides` are arguments of `Client.connect`.

    Raises:
        CannotConnect: wrong address, namespace, key or certificate.
    """
    try:
        config = {**ClientConfig.load_client_connect_config(), **overrides}
    except Exception as fault:
        raise CannotConnect(f"Temporal's configuration cannot be read: {fault}") from fault
    config.setdefault("target_host", "localhost:7233")
    address, namespace = config["target_host"], config.get("namespace") or "default"
    config["namespace"] = namespace
    config.setdefault("data_converter", data_converter)
    try:
        client = await asyncio.wait_for(Client.connect(**config), CONNECT_SECONDS)
    except (TimeoutError, RuntimeError, ValueError) as fault:
        detail = f": {fault}" if str(fault) else ""
        raise CannotConnect(
            f"no Temporal server answers at {address} (TEMPORAL_ADDRESS, TLS settings){detail[:300]}"
        ) from fault
    except RPCError as fault:
        raise CannotConnect(_explain(fault, address, namespace)) from fault
    await _check_namespace(client, address, namespace)
    return client


async def _check_namespace(client: Client, address: str, namespace: str) -> None:
    request = DescribeNamespaceRequest(namespace=namespace)
    try:
        await asyncio.wait_for(client.workflow_service.describe_namespace(request), CHECK_SECONDS)
    except RPCError as fault:
        raise CannotConnect(_explain(fault, address, namespace)) from fault
    except TimeoutError as fault:
        message = f"the Temporal server at {address} does not answer for namespace {namespace!r}"
        raise CannotConnect(message) from fault


def _explain(fault: RPCError, address: str, namespace: str) -> str:
    if fault.status in (RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED):
        return f"the Temporal server at {address} refuses the key for namespace {namespace!r} (TEMPORAL_API_KEY)"
    if fault.status == RPCStatusCode.NOT_FOUND:
        return f"the Temporal server at {address} has no namespace {namespace!r} (TEMPORAL_NAMESPACE)"
    return f"the Temporal server at {address} answers {fault.status.name}: {fault.message[:300]}"
