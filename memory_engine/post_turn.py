"""Learning from one turn, step by step, with whoever wants to ask a model in between.

    asking = engine.begin_post_turn("My editor is Zed.", "Noted.", turn_id="t1", now=...)
    while asking.ask is not None:
        asking.answer(call_a_model(asking.ask))      # or asking.fail("timed out")
    result = asking.finish()

Nothing changes before `finish`. The answers are one plain value: kept elsewhere, and applied to the same memory again, they
teach the same; applied to a newer one, a verdict counts only for held texts that are still what its model was shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from .adjudication import open_items
from .answers import parse_evaluation, parse_extraction, parse_verdicts
from .arbiter import arbiter_input
from .asks import STAGES, Arbitrate, Arbitrated, Ask, Extract, Extracted, PostTurnAnswers, Reconcile, Reconciled, Stage
from .evaluation import ReconcileInput
from .options import CognitiveMemoryOptions
from .plan import PlanInputs, plan_injection
from .reports import PostTurnResult
from .state import State
from .text import without_lone_surrogates
from .turns import Turn, hear, learn_turn, new_lesson, statements_of, take_in

_LONGEST_ASKED = 24_000
MOST_ITEMS = 24
"""How many statements a reconciler is asked about at once."""


class PostTurn:
    """One turn on its way into a memory. Made by `CognitiveMemory.begin_post_turn`."""

    def __init__(
        self,
        state: Callable[[], State],
        options: CognitiveMemoryOptions,
        turn: Turn,
        asks: Collection[Stage],
        answers: PostTurnAnswers | None,
    ) -> None:
        self._state = state
        self._options = options
        self._heard = hear(turn, options)
        self._waiting = [stage for stage in STAGES if stage in asks]
        self._answers = PostTurnAnswers() if answers is None else answers.model_copy(deep=True)
        self._ask: Ask | None = None
        self._result = self._recorded()

    @property
    def ask(self) -> Ask | None:
        """What it would like to know next; None when there is nothing left to ask. Stays the same until it is answered."""
        while self._ask is None and self._waiting and self._result is None:
            stage = self._waiting[0]
            if getattr(self._answers, stage) is None:
                self._ask = _ASKING[stage](self)
            if self._ask is None:
                self._waiting.pop(0)
        return self._ask

    @property
    def answers(self) -> PostTurnAnswers:
        """A copy of everything answered so far."""
        return self._answers.model_copy(deep=True)

    def answer(self, answer: object) -> list[str]:
        """Takes the answer to `ask`: a model's text, a JSON value, or the finished model. Returns what was unusable."""
        match self.ask:
            case Extract(omitted_characters=omitted):
                read = parse_extraction(answer)
                if omitted:
                    read.problems.append(
                        f"{omitted} characters in the middle of the message were not read by the model"
                    )
                self._answers.extract = read
            case Reconcile(input=asked):
                self._answers.reconcile = parse_verdicts(answer, asked.items)
            case Arbitrate():
                self._answers.arbitrate = parse_evaluation(answer)
            case None:
                raise ValueError("nothing was asked")
        return self._next()

    def fail(self, reason: str) -> list[str]:
        """Takes note that there is no answer to `ask`; rules do without it."""
        problem = without_lone_surrogates(reason)[:500] or "no answer"
        match self.ask:
            case Extract():
                self._answers.extract = Extracted(problems=[problem])
            case Reconcile(input=asked):
                self._answers.reconcile = Reconciled(items=asked.items, problems=[problem])
            case Arbitrate():
                self._answers.arbitrate = Arbitrated(problems=[problem])
            case None:
                raise ValueError("nothing was asked")
        return self._next()

    def finish(self) -> PostTurnResult:
        """Learns the turn. What was not asked or not answered is left to the rules; a second call changes nothing."""
        self._result = self._result or self._recorded()
        if self._result is None:
            self._result = learn_turn(self._state(), self._options, self._heard, self._answers)
            self._waiting.clear()
        return self._result

    def _recorded(self) -> PostTurnResult | None:
        turn_id = self._heard.turn.turn_id
        return None if turn_id is None else self._state().ledger.recorded(turn_id)

    def _next(self) -> list[str]:
        stage = self._waiting.pop(0)
        self._ask = None
        return list(getattr(self._answers, stage).problems)

    def _ask_extract(self) -> Ask | None:
        turn = self._heard.turn
        if self._heard.skipped or not self._heard.reading.claims_something:
            return None
        message, omitted = _bounded(turn.user_message)
        reply, _ = _bounded(turn.assistant_response)
        return Extract(user_message=message, assistant_response=reply, omitted_characters=omitted)

    def _ask_reconcile(self) -> Ask | None:
        statements, _ = statements_of(self._heard, self._options, self._answers.extract)
        lesson = new_lesson(self._state(), self._options, self._heard.turn)
        items = open_items(lesson, statements)[:MOST_ITEMS]
        return Reconcile(input=ReconcileInput(items=items)) if items else None

    def _ask_arbitrate(self) -> Ask | None:
        if self._heard.reading.is_small_talk:
            return None
        # The arbiter judges the memory as it will be, and nothing may change before the end: so it looks at a copy.
        state = self._state().fork()
        lesson = take_in(state, self._options, self._heard, self._answers)
        inputs = PlanInputs(state.store, state.tensions, state.self_model, self._options)
        prompt = plan_injection(inputs, None, (), None, None).text
        turn = self._heard.turn
        said, _ = _bounded(turn.user_message)
        replied, _ = _bounded(turn.assistant_response)
        return Arbitrate(input=arbiter_input(state, said, replied, prompt, lesson.fresh))


_ASKING: dict[Stage, Callable[[PostTurn], Ask | None]] = {
    "extract": PostTurn._ask_extract,
    "reconcile": PostTurn._ask_reconcile,
    "arbitrate": PostTurn._ask_arbitrate,
}


def _bounded(text: str) -> tuple[str, int]:
    """Both ends of a long text, as what matters tends to stand there, and how much between them is left out."""
    text = without_lone_surrogates(text)
    omitted = len(text) - _LONGEST_ASKED
    if omitted <= 0:
        return text, 0
    half = _LONGEST_ASKED // 2
    return f"{text[:half]}\n[…]\n{text[-half:]}", omitted


def asked_stages(options: CognitiveMemoryOptions) -> Sequence[Stage]:
    """The stages for which the options have somebody to ask."""
    callables = {"extract": options.extract, "reconcile": options.reconcile, "arbitrate": options.arbiter}
    return [stage for stage in STAGES if callables[stage] is not None]
