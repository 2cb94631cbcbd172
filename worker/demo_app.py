"""The app of the demo: a support agent with one tool of its own; two more are the host's."""

from typing import Any

from worker.app import AgentApp, Persona, tool

ORDERS = {"1042": {"order_id": "1042", "item": "kettle", "amount": 42.5, "status": "delivered"}}


@tool(side_effects=False, timeout="PT10S")
async def lookup_order(order_id: str) -> dict[str, Any]:
    """Look up an order of the shop.

    Args:
        order_id: Number of the order.
    """
    return ORDERS.get(order_id) or {"order_id": order_id, "status": "unknown"}


app = AgentApp(
    personas=[
        Persona(
            id="support",
            name="Support",
            base_system_prompt=(
                "You help customers of a shop. For a refund look the order up first. Then, in one reply, call both "
                "approve_refund and notify_customer, and tell the customer what came of each of them."
            ),
        )
    ],
    tools=[lookup_order],
)
