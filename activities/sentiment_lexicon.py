"""How a user feels, told by the words they use. Pure, English, and silent where it does not understand.

Each word has a value from -1 to 1. A negation before it turns it, and weakens it more the harsher it is: `not bad` is hardly
praise, `not great` is a complaint. What follows a `but` counts more than what stands before it. Quotations and code are
nobody's feelings and are left out.
"""

import re
from collections.abc import Mapping

from activities.sentiment import EXCERPT_CHARS, Sentiment
from memory_engine.text import fold_apostrophes, vocabulary
from memory_engine.tokens import CONTRACTED_NOT

SHORT_WORDS = 3
EMPHASIS = 0.15
NEGATED_PRAISE, NEGATED_BLAME = -0.7, -0.3
# How far a negation or an adverb reaches, in words.
REACH = 3
BEFORE_BUT, AFTER_BUT = 0.5, 1.5

_VALUES = {
    0.9: "amazing awesome brilliant excellent fantastic flawless incredible outstanding perfect superb wonderful",
    0.7: "delighted great impressed impressive love loved loves lovely thrilled",
    0.6: "beautiful glad grateful happy thrilling",
    0.5: "appreciate appreciated good helpful nice pleased",
    0.4: "satisfied thank thanks thx",
    0.3: "better cool easier fine useful works",
    -0.3: "annoying confusing slow tedious unclear wrong",
    -0.4: "bad complain disappointing mess unhelpful upset",
    -0.6: "angry annoyed disappointed frustrated frustrating nonsense ridiculous stupid unacceptable",
    -0.7: "crap furious garbage hate outrageous pathetic rubbish useless worthless",
    -0.9: "abysmal appalling atrocious awful disgusting dreadful horrible horrendous infuriating terrible worst",
}
WORDS: Mapping[str, float] = {word: value for value, words in _VALUES.items() for word in words.split()}
PHRASES: Mapping[str, float] = {
    "never mind": 0.0, "no problem": 0.2, "no worries": 0.2, "well done": 0.7, "good job": 0.7, "nice work": 0.7,
    "good morning": 0.0, "good evening": 0.0, "good afternoon": 0.0, "good luck": 0.2, "thanks for nothing": -0.8,
    "no thanks": 0.0, "would love": 0.0, "would like": 0.0, "better than nothing": 0.1,
    "nothing works": -0.7, "does not work": -0.5, "did not work": -0.5, "is not working": -0.5, "not working": -0.5,
    "still not": -0.3, "still broken": -0.6, "still fails": -0.5, "keeps failing": -0.5, "failed again": -0.5,
    "broken again": -0.6, "you are wrong": -0.5, "still wrong": -0.6, "wrong again": -0.6,
    "waste of time": -0.8, "wasting my time": -0.8, "fed up": -0.8, "sick of": -0.7, "tired of": -0.6, "give up": -0.6,
    "had enough": -0.6, "not what i": -0.4, "how many times": -0.6, "makes no sense": -0.4, "worst case": 0.0,
    "could not be better": 0.8, "could not be worse": -0.8, "not only": 0.0, "solved it": 0.5, "that worked": 0.5,
}  # fmt: skip
CONFUSED = re.compile(
    r"\b(?:(?:do|did|can|could) (?:not|never) (?:really |quite |even )?(?:understand|follow|get (?:it|this|that))"
    r"|what do you mean|makes? no sense|(?:does|did) not make (?:any )?sense|(?:is|are) (?:not clear|unclear|confusing)"
    r"|(?<!not )(?<!less )(?<!longer )(?<!never )(?<!was )confused|i am (?:totally |completely |a bit )?lost"
    r"|you (?:have )?lost me|no idea what you)\b"
    r"|^\W*(?:huh|what)\?+\W*$"
)
NEGATIONS = vocabulary("no not never neither nor cannot without nobody nothing hardly barely")
# `Find a great restaurant` praises nothing yet.
INDEFINITE, WANTED = vocabulary("a an any some"), 0.4
STRONGER = vocabulary("absolutely completely extremely incredibly really so such super totally truly utterly very")
WEAKER = vocabulary("bit fairly kinda little maybe pretty quite rather slightly somewhat")
# Words that make a text English beyond doubt; one of two words may go without.
ENGLISH = vocabulary(
    "about again all and any are at because been but can could did do does doing for from get give had has have how i if is "
    "it its just know like make me more much my never not nothing of on one please really should so still that the their "
    "them then there these they this those time to too very want was we were what when where which why will with would you "
    "your"
)
FOREIGN = vocabulary(
    "das der die ein eine el en est et het ich il ist la le les los mein nicht niet och pas per que und une zu"
)
TERSE = vocabulary("alright guess hm hmm idk k maybe meh nah no nope ok okay sure whatever yeah yep yes")

_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"]*\"|“[^”]*”|(?<!\w)'[^'\n]{3,}'(?!\w)|(?m:^\s*>.*$)", re.DOTALL
)
_CONTRACTED = re.compile(r"\b(\w+)n't\b")
_CLAUSE = re.compile(r"[,.;:!?()\n]+|\b(?=but\b)")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def sentiment_of(text: str) -> Sentiment:
    """What the text says of how its writer feels; nothing known where it is no English, or no words are left."""
    own = _QUOTED.sub(" ", fold_apostrophes(text[:EXCERPT_CHARS]))
    plain = _plain(own)
    words = _WORD.findall(plain)
    is_confused = CONFUSED.search(plain) is not None
    if not words or not (_is_english(words) or is_confused):
        return Sentiment(is_known=False)
    found = [each for clause in _weighted(plain) for each in _values(*clause)]
    weight = sum(share for _, share in found)
    score = sum(value * share for value, share in found) / weight if weight else 0.0
    strongest = max((abs(value) for value, _ in found), default=0.0)
    intensity = min(1.0, strongest + EMPHASIS * _emphasis(own)) if strongest else 0.0
    return Sentiment(
        score=round(max(-1.0, min(1.0, score)), 4),
        intensity=round(intensity, 4),
        is_confused=is_confused,
        is_short=len(_WORD.findall(text)) <= SHORT_WORDS,
    )


def _plain(text: str) -> str:
    """Lower case, with contractions written out, so that one list of phrases reads both."""
    told = text.lower().replace("can't", "can not").replace("won't", "will not").replace("cannot", "can not")
    told = _CONTRACTED.sub(r"\1 not", told).replace("i'm", "i am").replace("'re ", " are ")
    return " ".join(re.sub(r"[^\S\n]+", " ", line).strip() + "\n" for line in told.splitlines())


def _is_english(words: list[str]) -> bool:
    if not all(word.isascii() for word in words) or any(word in FOREIGN for word in words):
        return False
    if len(words) < SHORT_WORDS:
        known = any(word in WORDS or word in TERSE or word in ENGLISH for word in words)
        return known or " ".join(words) in PHRASES
    return any(word in ENGLISH or word in CONTRACTED_NOT for word in words)


def _weighted(text: str) -> list[tuple[list[str], float]]:
    """The clauses as words, each with what it counts."""
    clauses = [_WORD.findall(clause) for clause in _CLAUSE.split(text)]
    turn = max((place for place, words in enumerate(clauses) if words[:1] == ["but"]), default=None)
    if turn is None:
        return [(words, 1.0) for words in clauses]
    return [(words, AFTER_BUT if place >= turn else BEFORE_BUT) for place, words in enumerate(clauses)]


def _values(words: list[str], share: float) -> list[tuple[float, float]]:
    """The values that stand in a clause. A phrase is read as one, and its words not again."""
    found, place = [], 0
    while place < len(words):
        length, value = _phrase_at(words, place)
        if length:
            if value:
                found.append((value, share))
            place += length
            continue
        if (value := WORDS.get(words[place], 0.0)) != 0:
            before = words[max(0, place - REACH) : place]
            found.append((_coloured(value, before), share))
        place += 1
    return found


def _phrase_at(words: list[str], place: int) -> tuple[int, float]:
    for length in (4, 3, 2):
        phrase = " ".join(words[place : place + length])
        if phrase in PHRASES and len(words) >= place + length:
            return length, PHRASES[phrase]
    return 0, 0.0


def _coloured(value: float, before: list[str]) -> float:
    """A word's value behind these words."""
    if value > 0 and any(word in INDEFINITE for word in before[-2:]):
        value *= WANTED
    for word in before:
        value *= 1.25 if word in STRONGER else 0.7 if word in WEAKER else 1.0
    if any(word in NEGATIONS for word in before):
        value *= NEGATED_PRAISE if value > 0 else NEGATED_BLAME
    return max(-1.0, min(1.0, value))


def _emphasis(text: str) -> int:
    """Exclamation marks, and words that shout."""
    shouts = [word for word in _WORD.findall(text) if len(word) > 3 and word.isupper()]
    return min(2, ("!" in text) + bool(shouts))
