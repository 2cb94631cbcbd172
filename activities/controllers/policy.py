"""What becomes of a call to a controller's function: it runs, waits for approval, goes to the host, or is not offered.

The app's rules are asked in order and the first that fits decides; where none does, the function's default counts. Which
rules can fit is settled when the worker starts. Only predicates are asked again for each call, since they see its arguments.
"""

import copy
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

from activities.conversation import Arguments

Action = Literal["run", "approve", "external", "hidden"]
ProtocolName = Literal["http", "class", "mcp"]

_BY_STRICTNESS: tuple[Action, ...] = ("external", "approve", "run")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """What is known of a controller's function before anyone calls it. `method`, `path` and `operation_id` are those of an
    HTTP operation.

    `function` is its name inside the controller, which stays when the model is shown another one.
    """

    controller: str
    function: str
    protocol: ProtocolName
    description: str = ""
    method: str | None = None
    path: str | None = None
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    operation_id: str | None = None


Predicate = Callable[[FunctionFacts, Arguments], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: the action for functions that match all that is given. A rule without conditions matches every function.

    `run` runs the call, `approve` lets a person decide first, `external` leaves it to the host. `hidden` offers the function
    to nobody; with a predicate it refuses the calls that match. `name`, `path` and `operation_id` are globs in which letter
    case counts: `name` of the function inside its controller, the others of an HTTP operation as the document writes them.
    `predicate` is the name of a function registered with the app, called with `FunctionFacts` and the model's arguments:
    quick, sync and without effects, since it is asked several times for one call. One that raises leaves the call to a person.

    Raises:
        ValueError: the action or the protocol is none of those there are.
    """

    action: Action
    _: KW_ONLY
    protocol: ProtocolName | None = None
    method: str | None = None
    tag: str | None = None
    name: str | None = None
    path: str | None = None
    operation_id: str | None = None
    predicate: str | None = None

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise ValueError(f"a rule's action is one of {', '.join(get_args(Action))}, not {self.action!r}")
        if self.protocol is not None and self.protocol not in get_args(ProtocolName):
            raise ValueError(f"a rule's protocol is one of {', '.join(get_args(ProtocolName))}, not {self.protocol!r}")

    def fits(self, facts: FunctionFacts) -> bool:
        """Whether the rule is about this function, whatever its arguments are."""
        return (
            self.protocol in (None, facts.protocol)
            and (self.method is None or self.method.upper() == facts.method)
            and (self.tag is None or self.tag in facts.tags)
            and _matches(self.name, facts.function)
            and _matches(self.path, facts.path)
            and _matches(self.operation_id, facts.operation_id)
        )


def _matches(glob: str | None, text: str | None) -> bool:
    return glob is None or (text is not None and fnmatchcase(text, glob))


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules about one function, in order, and what holds where none of them does."""

    facts: FunctionFacts
    rules: tuple[tuple[Predicate, Action], ...]
    otherwise: Action

    @property
    def is_offered(self) -> bool:
        """Whether any call could be more than refused."""
        return self._possible != {"hidden"}

    def decide(self, arguments: Arguments | None) -> Action:
        """The action for a call with these arguments; for None the most careful one that could come out."""
        if arguments is None:
            return next((each for each in _BY_STRICTNESS if each in self._possible), "hidden")
        for predicate, action in self.rules:
            try:
                # A copy: what a predicate does to the arguments must not be what is run.
                holds = predicate(self.facts, copy.deepcopy(arguments))
                if inspect.isawaitable(holds):
                    raise TypeError("a predicate must not be async")
            except Exception as fault:
                logger.warning(
                    "a predicate about %s.%s raised %s; the call waits for approval",
                    self.facts.controller,
                    self.facts.function,
                    type(fault).__name__,
                )
                return "approve"
            if holds:
                return action
        return self.otherwise

    @property
    def _possible(self) -> set[Action]:
        return {self.otherwise, *(action for _, action in self.rules)}


def policy_for(
    facts: FunctionFacts, rules: Iterable[Rule], predicates: Mapping[str, Predicate], default: Action
) -> Policy:
    """The policy of one function. Every predicate that a rule names must be in `predicates`."""
    conditional: list[tuple[Predicate, Action]] = []
    for rule in rules:
        if not rule.fits(facts):
            continue
        if rule.predicate is None:
            return Policy(facts, tuple(conditional), rule.action)
        conditional.append((predicates[rule.predicate], rule.action))
    return Policy(facts, tuple(conditional), default)
