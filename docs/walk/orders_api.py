"""An API to try functions on: orders of a shop, kept in memory. `ORDERS_TOKEN=… python docs/walk/orders_api.py [PORT]`."""

import os
import sys
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field, SecretStr


class NewOrder(BaseModel):
    """What is wanted."""

    article: str = Field(min_length=1)
    count: int = Field(default=1, ge=1)


class Payment(BaseModel):
    """How an order is paid. FastAPI describes a `SecretStr` with the format `password`."""

    amount: float = Field(gt=0)
    card_number: SecretStr


class Order(BaseModel):
    """An order."""

    id: str
    article: str
    count: int
    paid: bool = False


def check_token(given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> None:
    """Let callers with the token in."""
    if given.credentials != os.environ["ORDERS_TOKEN"]:
        raise HTTPException(403, "this token opens nothing")


app = FastAPI(title="Orders")
orders: dict[str, Order] = {}
GUARDED = [Depends(check_token)]
MOST = 10


@app.get("/orders/{order_id}", operation_id="read_order", dependencies=GUARDED)
def read_order(order_id: str) -> Order:
    """Read an order."""
    if order_id not in orders:
        raise HTTPException(404, f"there is no order {order_id}; there are: {', '.join(orders) or 'none'}")
    return orders[order_id]


@app.post("/orders", operation_id="create_order", dependencies=GUARDED, status_code=201)
def create_order(wanted: NewOrder) -> Order:
    """Order an article."""
    if wanted.count > MOST:
        raise HTTPException(422, f"at most {MOST} of an article are sold")
    order = Order(id=str(len(orders) + 1), article=wanted.article, count=wanted.count)
    orders[order.id] = order
    return order


@app.post("/orders/{order_id}/payment", operation_id="pay_order", dependencies=GUARDED)
def pay_order(order_id: str, payment: Payment) -> Order:
    """Pay an order by card."""
    order = read_order(order_id)
    order.paid = len(payment.card_number.get_secret_value()) >= 12
    return order


@app.delete("/orders/{order_id}", operation_id="delete_order", dependencies=GUARDED, status_code=204)
def delete_order(order_id: str) -> None:
    """Delete an order for good."""
    orders.pop(order_id, None)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8099
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
