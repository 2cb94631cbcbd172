"""Sentences that say nothing beyond themselves: greetings, thanks, assent. Nothing is learned from them, at no cost."""

from __future__ import annotations

from .phrasing import stated
from .text import normalise, vocabulary
from .tokens import words

# No word here may carry a fact together with others from here: no first person, no time, no number, no negation but "no".
_WORDS = vocabulary(
    "hi hey hello hiya yo greetings there bye goodbye thanks thank thx ty cheers you ya very much so lots ok okay k kk yes yeah"
    " yep yup no nope sure alright right fine good great nice cool perfect awesome excellent wonderful lovely brilliant amazing"
    " got it gotcha understood noted done sounds looks makes sense thats is all of course please sorry oops wow haha hahaha"
    " lol hm hmm mm ah oh aha again everyone team continue proceed go ahead carry on"
    " hola gracias muchas vale adiós adios hallo danke bitte tschüss bonjour salut merci beaucoup ciao grazie prego obrigado"
    " obrigada olá ola привет здравствуйте спасибо пока хорошо да нет ладно"
)
_PHRASES = vocabulary(
    "你好 您好 谢谢 谢谢你 謝謝 謝謝你 多谢 好 好的 好吧 嗯 是的 对 再见"
    " こんにちは こんばんは おはよう おはようございます ありがとう ありがとうございます はい うん 了解 了解です わかりました"
    " 안녕 안녕하세요 감사합니다 고마워 고마워요 네 예 응 알겠습니다"
) | {
    "good morning",
    "good afternoon",
    "good evening",
    "good night",
    "see you",
    "see you later",
    "no problem",
    "not now",
}
_LONGEST = 100


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence is made of such words alone. In doubt it is not."""
    if len(sentence) > _LONGEST:
        return False
    text = stated(sentence)
    return normalise(text) in _PHRASES or all(word.folded in _WORDS for word in words(text))
