"""What people say of themselves in other languages: taste, home and name, affirmed and taken back."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .frame import Frame, value_of

_V = r"(?P<value>\S.{0,80}?)"


@dataclass(frozen=True, slots=True)
class _Shape:
    pattern: re.Pattern[str]
    relation: str
    is_negated: bool


@dataclass(frozen=True, slots=True)
class _Language:
    """The shapes of a language; `clue` is in every text that one of them fits, at its beginning where words are spaced."""

    clue: re.Pattern[str]
    shapes: tuple[_Shape, ...]

    @property
    def is_latin(self) -> bool:
        """Whether its words are told by spaces, so that the clue stands at the beginning."""
        return self.clue.pattern.startswith("(?:")


def _shapes(clue: str, likes: str, dislikes: str, home: str, home_left: str, name: str) -> _Language:
    # What is taken back is tried first: its words contain those that affirm.
    told = (
        ("attitude", True, dislikes),
        ("home", True, home_left),
        ("attitude", False, likes),
        ("home", False, home),
        ("name", False, name),
    )
    shapes = tuple(
        _Shape(re.compile(f"(?:{pattern})$".replace("VALUE", _V), re.IGNORECASE), relation, is_negated)
        for relation, is_negated, pattern in told
    )
    return _Language(re.compile(clue, re.IGNORECASE), shapes)


_LANGUAGES = (
    _shapes(  # German
        r"(?:ich|mein)\s",
        r"ich\s+(?:mag|liebe)\s+(?:jetzt\s+)?VALUE",
        r"ich\s+(?:(?:mag|liebe)\s+(?:kein(?:e|en)?\s+(?P<v2>\S.{0,80}?)(?:\s+mehr)?|(?P<v3>\S.{0,80}?)\s+nicht(?:\s+mehr)?)|(?:hasse|verabscheue)\s+VALUE)",
        r"ich\s+(?:wohne|lebe)\s+(?:jetzt\s+|nun\s+)?in\s+VALUE(?:\s+jetzt)?",
        r"ich\s+(?:wohne|lebe)\s+nicht\s+mehr\s+in\s+VALUE",
        r"(?:ich\s+heiße|mein\s+name\s+ist)\s+VALUE",
    ),
    _shapes(  # French
        r"(?:je\s|j'|mon\s)",
        r"(?:j'aime|j'adore)\s+(?:bien\s+|beaucoup\s+)?VALUE",
        r"(?:je\s+n'aime\s+(?:pas|plus)|je\s+déteste)\s+(?:du\s+tout\s+)?VALUE",
        r"(?:j'habite|je\s+vis)\s+(?:maintenant\s+)?(?:à|en|au)\s+VALUE(?:\s+maintenant)?",
        r"je\s+n'habite\s+plus\s+(?:à|en|au)\s+VALUE",
        r"(?:je\s+m'appelle|mon\s+nom\s+est)\s+VALUE",
    ),
    _shapes(  # Spanish
        r"(?:me|mi|yo|ya|no|vivo|ahora|odio|detesto|amo|adoro)\s",
        r"(?:me\s+(?:gustan?|encantan?)|amo|adoro)\s+VALUE",
        r"(?:(?:ya\s+)?no\s+me\s+(?:gustan?|encantan?)|odio|detesto)\s+(?:más\s+)?VALUE",
        r"(?:ahora\s+)?(?:yo\s+)?vivo\s+(?:ahora\s+)?en\s+VALUE(?:\s+ahora)?",
        r"ya\s+no\s+vivo\s+en\s+VALUE",
        r"(?:me\s+llamo|mi\s+nombre\s+es)\s+VALUE",
    ),
    _shapes(  # Portuguese
        r"(?:eu|me|meu|gosto|moro|vivo|agora|não|já|odeio|detesto|amo|adoro)\s",
        r"(?:eu\s+)?(?:gosto\s+de|amo|adoro)\s+VALUE",
        r"(?:eu\s+)?(?:(?:já\s+)?não\s+gosto(?:\s+mais)?\s+de|odeio|detesto)\s+VALUE",
        r"(?:agora\s+)?(?:eu\s+)?(?:agora\s+)?(?:moro|vivo)\s+(?:agora\s+)?em\s+VALUE",
        r"(?:eu\s+)?(?:já\s+)?não\s+(?:moro|vivo)\s+(?:mais\s+)?em\s+VALUE",
        r"(?:(?:eu\s+)?me\s+chamo|meu\s+nome\s+é)\s+VALUE",
    ),
    _shapes(  # Italian
        r"(?:mi|il|non|vivo|abito|ora|adesso|odio|detesto|adoro)\s",
        r"(?:mi\s+piac(?:e|ciono)|adoro)\s+VALUE",
        r"(?:non\s+mi\s+piac(?:e|ciono)(?:\s+più)?|odio|detesto)\s+VALUE",
        r"(?:ora\s+|adesso\s+)?(?:vivo|abito)\s+(?:ora\s+|adesso\s+)?(?:a|in)\s+VALUE",
        r"non\s+(?:vivo|abito)\s+più\s+(?:a|in)\s+VALUE",
        r"(?:mi\s+chiamo|il\s+mio\s+nome\s+è)\s+VALUE",
    ),
    _shapes(  # Russian
        r"[а-я]",
        r"(?:я\s+)?(?:очень\s+)?(?:теперь\s+)?(?:люблю|обожаю)\s+VALUE",
        r"(?:я\s+)?(?:(?:больше\s+|уже\s+)?не\s+люблю|ненавижу)\s+VALUE(?:\s+больше)?",
        r"(?:теперь\s+|сейчас\s+)?(?:я\s+)?(?:теперь\s+|сейчас\s+)?живу\s+(?:теперь\s+|сейчас\s+)?в\s+VALUE",
        r"(?:я\s+)?(?:больше|уже)\s+не\s+живу\s+в\s+VALUE",
        r"меня\s+зовут\s+VALUE",
    ),
    _shapes(  # Chinese
        r"我",
        r"我(?:现在|現在)?(?:很|最|也|又|非常)?(?:喜欢|喜歡|爱|愛)(?:吃|喝)?VALUE",
        r"我(?:现在|現在|已经|已經|再也)?(?:(?:不|不再|不太|不怎么)(?:喜欢|喜歡|爱|愛)|(?:很)?(?:讨厌|討厭))(?:吃|喝)?VALUE(?:了)?",
        r"我(?:现在|現在)?住在VALUE(?:了)?",
        r"我(?:现在|現在|已经|已經)?(?:不|不再)住在VALUE(?:了)?",
        r"我(?:叫|的名字(?:是|叫))VALUE",
    ),
    _shapes(  # Japanese
        r"好き|嫌い|住んで|名前",
        r"(?:(?:私|僕|俺)は)?VALUE(?:が|は)(?:大)?好き(?:です|だ)?",
        r"(?:(?:私|僕|俺)は)?VALUE(?:が|は)(?:(?:大)?嫌い(?:です|だ)?|(?:もう)?好き(?:では|じゃ)(?:ありません|ない(?:です)?))",
        r"(?:(?:私|僕|俺)は)?(?:今は)?VALUEに住んで(?:いま|ま)?(?:す|る|いる)",
        r"(?:(?:私|僕|俺)は)?(?:もう)?VALUEに(?:は)?住んで(?:いません|いない)",
        r"(?:私|僕|俺)の名前はVALUE(?:です)?",
    ),
    _shapes(  # Korean
        r"[가-힣]",
        r"(?:(?:저는|나는|난|전)\s)?(?:이제\s)?VALUE[을를]\s?(?:정말\s|아주\s)?좋아(?:한다|해요?|합니다)",
        r"(?:(?:저는|나는|난|전)\s)?(?:이제\s|더\s?이상\s)?VALUE[을를]\s?(?:싫어(?:한다|해요?|합니다)|좋아하지\s?않(?:는다|아요?|습니다)|안\s좋아해요?)",
        r"(?:(?:저는|나는|난|전)\s)?(?:이제\s|지금\s)?VALUE에\s?(?:살아요?|산다|삽니다|살고\s?있(?:어요?|다|습니다))",
        r"(?:(?:저는|나는|난|전)\s)?(?:이제\s|더\s?이상\s)?VALUE에\s?살지\s?않(?:아요?|는다|습니다)",
        r"(?:제|내)\s이름은\sVALUE(?:입니다|이에요|예요|이다)",
    ),
    _shapes(  # Arabic
        r"[ء-ي]",
        r"(?:أنا\s+)?أحب\s+VALUE",
        r"(?:أنا\s+)?(?:لم\s+أعد\s+أحب|لا\s+أحب|أكره)\s+VALUE",
        r"(?:أنا\s+)?(?:أعيش|أسكن)\s+(?:الآن\s+)?في\s+VALUE",
        r"(?:أنا\s+)?لم\s+أعد\s+(?:أعيش|أسكن)\s+في\s+VALUE",
        r"اسمي\s+VALUE",
    ),
    _shapes(  # Hindi
        r"[ऀ-ॿ]",
        r"मुझे\s+(?:अब\s+)?VALUE\s+पसंद\s+है",
        r"मुझे\s+(?:अब\s+)?VALUE\s+(?:अब\s+)?पसंद\s+नहीं(?:\s+है)?|मुझे\s+(?P<v2>\S.{0,80}?)\s+से\s+नफ़?रत\s+है",
        r"मैं\s+(?:अब\s+)?VALUE\s+में\s+रहत[ाी]\s+हूँ",
        r"मैं\s+(?:अब\s+)?VALUE\s+में\s+नहीं\s+रहत[ाी](?:\s+हूँ)?",
        r"मेरा\s+नाम\s+VALUE\s+है",
    ),
)
_LATIN = re.compile("|".join(each.clue.pattern for each in _LANGUAGES if each.is_latin), re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:(?:der|die|das|den|le|la|les|el|los|las|il|lo|gli|i|o|os|as)\s+|l')(?=\S)", re.IGNORECASE)
_CHANGE = re.compile(
    r"(?<!\w)(?:jetzt|nun|mehr|maintenant|plus|ahora|ya|agora|mais|ora|adesso|più|теперь|сейчас|больше|الآن|लم|अब)(?!\w)|现在|現在|不再|了$|今は|もう|이제|더",
    re.IGNORECASE,
)


def foreign_frame(text: str) -> Frame | None:
    """The frame of a statement about oneself in one of these languages, or None."""
    if text.isascii() and not _LATIN.match(text):
        return None
    for language in _LANGUAGES:
        is_found = language.clue.match(text) if language.is_latin else language.clue.search(text)
        for shape in language.shapes if is_found else ():
            if match := shape.pattern.match(text):
                return _frame(shape, match, text)
    return None


def _frame(shape: _Shape, match: re.Match[str], text: str) -> Frame:
    raw = next(group for name, group in match.groupdict().items() if group and name.startswith("v"))
    value = _ARTICLE.sub("", value_of(raw).text, count=1)
    subject = frozenset({"i"})
    if shape.relation == "attitude":
        return Frame(subject, f"attitude to {value}", "", shape.is_negated)
    told = value_of(raw)
    return Frame(
        subject,
        shape.relation,
        value,
        shape.is_negated,
        is_changed=_CHANGE.search(text) is not None,
        has_reason=told.has_reason,
        says_more=told.says_more,
    )
