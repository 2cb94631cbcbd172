"""What the worker decides for every turn, as one value that it makes from its settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from activities.contracts import Patience
from activities.modalities import Kind


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """`secrets` are the names that `options.userApiKeys` may use.

    `memory_model` says whether a model helps memory to learn, `has_retriever` whether the app has one. `modalities` is what
    models take, by their names; one that is not there is tried.
    """

    default_model: str
    patience: Patience = field(default_factory=Patience)
    secrets: frozenset[str] = frozenset()
    has_price: Callable[[str], bool] = field(default=lambda model: False)
    memory_model: bool = False
    has_retriever: bool = False
    modalities: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)
