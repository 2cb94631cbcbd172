"""Plain facts people tell about themselves, in shapes that are hard to mistake: "Call me Ren", "I prefer e-mail"."""

from __future__ import annotations

import re

from .phrasing import is_pointing, stated, without_opening
from .text import fold_apostrophes

_ADVERBS = r"(?:(?:really|also|now|usually|always|mostly|still|just|both|absolutely|only|currently)\s+)*"
_NAMED = re.compile(
    r"(?:please\s+)?call\s+me\s+(?!back|when|if|at|later|tomorrow|crazy|on|a\b|an\b)\S.{0,60}$"
    r"|my\s+(?:nick)?name(?:'s|\s+is)\s+\S.{0,60}$|i'm\s+called\s+\S.{0,60}$|i\s+go\s+by\s+\S.{0,60}$"
    r"|(?-i:I(?:'m| am)\s+[A-Z][\w-]+(?:\s+[A-Z][\w-]+)*(?:$|,\s|\s+and\s).{0,120}$)",
    re.IGNORECASE,
)
_ATTITUDE = re.compile(
    rf"i\s+{_ADVERBS}(?:love|like|prefer|hate|dislike|enjoy|adore|(?:can't|cannot)\s+stand|(?:don't|do\s+not)\s+(?:like|eat|drink|use|want)"
    r"|no\s+longer\s+(?:like|love|enjoy|use|eat|drink|work|live)|stopped\s+(?:using|eating|drinking)|avoid)\s+(?P<object>\S.{1,200})$",
    re.IGNORECASE,
)
_LIFE = re.compile(
    rf"i\s+{_ADVERBS}(?:live|work|study|grew\s+up|was\s+born|moved|switched|commute)\s+"
    rf"(?:in|at|for|as|on|near|with|to|from)\s+(?P<object>\S.{{1,200}})$"
    rf"|i\s+{_ADVERBS}(?:use|speak|own|drive|play|teach|run|manage|maintain|eat|drink)\s+(?P<object2>\S.{{1,200}})$"
    r"|(?:i'm|i\s+am)\s+(?:from|based\s+in|allergic\s+to|married\s+to|interested\s+in|responsible\s+for|afraid\s+of)\s+(?P<object3>\S.{1,200})$"
    r"|(?:i'm|i\s+am)\s+(?:(?:a|an|the)\s+(?!bit|little|fan|lot)|vegan|vegetarian|left-handed|colou?r-?blind|\d)(?P<object4>.{0,200})$"
    r"|(?:i\s+have|i've\s+got)\s+(?:(?:a|an|one|two|three|four|five|\d+)\s+)?(?:\w+\s+){0,2}(?:sons?|daughters?|kids?|child(?:ren)?|wife|husband"
    r"|partner|brothers?|sisters?|dogs?|cats?|pets?|cars?|bikes?|allerg(?:y|ies)|diabetes|asthma)\b(?P<object5>.{0,160})$",
    re.IGNORECASE,
)
_POSSESSED = re.compile(
    r"(?:my|our)\s+(?P<noun>[^,;:?!]{2,60}?)\s+(?:is|are|runs\s+on|uses|lives?\s+(?:in|at|on)|works?\s+(?:at|for|as|in)|likes?|loves?|prefers?)\s+"
    r"(?P<value>\S.{1,200})$",
    re.IGNORECASE,
)
_PASSING_NOUN = re.compile(
    r"(?:question|point|guess|problem|issue|bad|concern|understanding|idea|goal here|plan here|mistake|code"
    r"|build|tests?|pipeline|app|script|computer|laptop|program|fault|turn|apologies|pleasure|thought|feeling)\b",
    re.IGNORECASE,
)
_PASSING_VALUE = re.compile(
    r"(?:broken|failing|slow|wrong|stuck|down|not\s|ready|fine|ok|okay|gone|late|red"
    r"|green again|crashing|hanging|done|over|still|being|getting|going|trying|looking"
    r"|about\s+to|sorry|sure|glad|happy|afraid\s+that|confused|here|back|able|hungry|tired|busy|sick|ill|angry|mad|scared"
    r"|worried|nervous|convinced|certain|available|online|seeing|having|feeling|talking)\b",
    re.IGNORECASE,
)
_OTHER_LANGUAGES = re.compile(
    r"(?:我|本人)(?:的(?:名字|姓名)|叫|姓|是|住|喜欢|喜歡|爱|愛|讨厌|討厭|不喜欢|不喜歡|不吃|用|在|养|養|有|来自|來自|对|對|偏好).{1,300}$"
    r"|我(?:们|們)?的.{1,20}(?:是|叫|在).{1,200}$|请?叫我.{1,60}$|請?叫我.{1,60}$"
    r"|(?:私|僕|俺|わたし|ぼく)(?:は|の|が).{2,300}$|.{1,15}(?:さん|くん|ちゃん|氏)(?:は|の).{2,300}$"
    r"|(?:저는|나는|제\s|내\s|우리\s?).{2,300}$|\S{1,20}[은는]\s.{1,200}다$"
    r"|(?:меня\s+зовут|я\s+(?:живу|работаю|люблю|не\s+люблю|предпочитаю|использую|ненавижу))\s.{1,200}$"
    r"|(?:me\s+llamo|mi\s+nombre\s+es|vivo\s+en|prefiero|(?:no\s+)?me\s+gustan?|trabajo\s+(?:en|como|para)|odio)\s.{1,200}$"
    r"|(?:ich\s+(?:heiße|wohne|arbeite|bevorzuge|mag|hasse|lebe|benutze)|mein\s+name\s+ist)\s.{1,200}$"
    r"|(?:je\s+m'appelle|j'habite|je\s+(?:préfère|travaille|déteste|vis|n'aime\s+pas)|j'aime|mon\s+nom\s+est)\s.{1,200}$",
    re.IGNORECASE,
)


def first_person_fact(sentence: str) -> str | None:
    """The statement in the user's own words if it is a plain fact about them, else None."""
    own_words = stated(without_opening(sentence))
    text = fold_apostrophes(own_words)
    if _NAMED.match(text) or _is_attitude_or_life(text) or _is_possessed(text) or _OTHER_LANGUAGES.match(text):
        return own_words
    return None


def _is_attitude_or_life(text: str) -> bool:
    match = _ATTITUDE.match(text) or _LIFE.match(text)
    if match is None:
        return False
    subject_matter = next((group for group in match.groups() if group), "")
    return not is_pointing(subject_matter)


def is_passing(state: str) -> bool:
    """Whether a state is one of the moment: "ready", "stuck", "sure"."""
    return bool(_PASSING_VALUE.match(state))


def _is_possessed(text: str) -> bool:
    match = _POSSESSED.match(text)
    if match is None or _PASSING_NOUN.match(match["noun"]) or is_passing(match["value"]):
        return False
    return not is_pointing(match["value"])
