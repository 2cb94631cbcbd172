"""Three hundred facts as users state them, with questions about them whose answers are known.

Ids, hosts, ports, conventions, requirements and people, in eight languages. Each fact has an exact, an inflected and a partial
question; the distractors of a fact are the others of its family, which share all words but one. The negative questions are
about things nobody said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["exact", "inflected", "partial", "distractor"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the number of the fact that answers it."""

    kind: Kind
    text: str
    answer: int


_SERVICES: Final = (
    *("billing", "ledger", "checkout", "search", "gateway", "mailer", "invoice", "scheduler", "catalogue", "identity"),
    *("warehouse", "shipping", "pricing", "reporting", "notifier", "archive", "payroll", "survey", "loyalty", "refund"),
)
_PEOPLE: Final = ("Ana", "Mia", "Ren", "Tomás", "Ingrid", "Yusuf", "Chloé", "Priya", "Olek", "Hana")
_RULES: Final = (
    ("Always run the canary pipeline before deploying the {} service", "canary pipelines for {}", "deploy {} canary"),
    (
        "Never restart the {} service while payments settle",
        "restarting {} during payment settlement",
        "{} payments settle",
    ),
)
_CHINESE: Final = ("订单", "支付", "库存", "物流", "会员", "报表", "日志", "网关", "搜索", "推荐")
_JAPANESE: Final = ("在庫", "請求", "認証", "配送", "会計", "検索", "通知", "予約", "決済", "監視")
_KOREAN: Final = ("결제", "배송", "회원", "재고", "검색", "알림", "정산", "예약", "인증", "로그")
_RUSSIAN: Final = ("склад", "касса", "поиск", "почта", "архив", "отчёт", "шлюз", "биллинг", "каталог", "журнал")
_SPANISH: Final = (
    "almacén",
    "facturación",
    "búsqueda",
    "envíos",
    "nóminas",
    "catálogo",
    "archivo",
    "alertas",
    "precios",
    "reservas",
)


def facts_and_questions() -> tuple[list[str], list[Question]]:
    """The 300 facts, and the questions they answer."""
    facts: list[str] = []
    questions: list[Question] = []

    def state(fact: str, *asked: tuple[Kind, str]) -> None:
        questions.extend(Question(kind, text, len(facts)) for kind, text in asked)
        facts.append(fact)

    for at, name in enumerate(_SERVICES):
        build, host, port = f"{name[:2].upper()}{7 + at}X{at}M2K", f"{name}-{2201 + at}.acme.example", 8100 + at
        state(
            f"The {name} staging build id is {build}",
            ("exact", f"the {name} staging build id"),
            ("inflected", f"staged builds of {name}"),
            ("partial", build.lower()),
            ("distractor", f"{name} build id"),
        )
        state(
            f"The {name} service is hosted on {host}",
            ("exact", f"where is the {name} service hosted"),
            ("inflected", f"{name} services hosting"),
            ("partial", host),
        )
        state(
            f"The {name} service listens on port {port}",
            ("exact", f"which port does the {name} service listen on"),
            ("inflected", f"{name} listening ports"),
            ("partial", f"port {port}"),
            ("distractor", f"{name} port"),
        )
        state(
            f"Files of the {name} module are named in kebab-case under src/{name}/{name}-api",
            ("exact", f"how are files of the {name} module named"),
            ("inflected", f"naming {name} module files"),
            ("partial", f"src/{name}/{name}-api"),
        )
        for rule, inflected, partial in _RULES:
            state(
                rule.format(name),
                ("exact", rule.format(name)),
                ("inflected", inflected.format(name)),
                ("partial", partial.format(name)),
            )
        state(
            f"{name.title()} alerts are routed to the #{name}-oncall-{at} channel",
            ("exact", f"where are {name} alerts routed"),
            ("inflected", f"routing of a {name} alert"),
            ("partial", f"#{name}-oncall-{at}"),
        )
        state(
            f"Backups of {name} are kept for {20 + at} days in eu-central-{at}",
            ("exact", f"how long are backups of {name} kept"),
            ("inflected", f"keeping {name} backup days"),
            ("partial", f"eu-central-{at} backups"),
        )
    for at, person in enumerate(_PEOPLE):
        other = _SERVICES[at]
        for fact, exact, inflected, partial in (
            ("{0} owns the {1} dashboards", "who owns the {1} dashboards", "{1} dashboard owner {0}", "{0} dashboards"),
            ("{0} is allergic to {2}", "what is {0} allergic to", "{0} allergic", "{2}"),
            ("{0} sits in room {3}", "in which room does {0} sit", "{0} sitting room", "room {3}"),
            (
                "{0} prefers review requests before {4}",
                "when does {0} prefer review requests",
                "{0} reviews",
                "{0} {4}",
            ),
        ):
            food = (
                "peanuts",
                "shellfish",
                "gluten",
                "soy",
                "sesame",
                "lupin",
                "celery",
                "mustard",
                "almonds",
                "oysters",
            )[at]
            words = (person, other, food, f"{at + 2}.0{at}", f"{9 + at}:30")
            asked: tuple[tuple[Kind, str], ...] = (
                ("exact", exact.format(*words)),
                ("inflected", inflected.format(*words)),
                ("partial", partial.format(*words)),
            )
            state(fact.format(*words), *asked)
    for at in range(10):
        zh, ja, ko, ru, es = _CHINESE[at], _JAPANESE[at], _KOREAN[at], _RUSSIAN[at], _SPANISH[at]
        state(
            f"{zh}服务的端口是 {7100 + at}",
            ("exact", f"{zh}服务的端口"),
            ("partial", f"{zh}端口"),
            ("inflected", f"{zh}"),
        )
        state(
            f"不要在周五部署{zh}服务",
            ("exact", f"不要在周五部署{zh}服务"),
            ("partial", f"部署{zh}"),
            ("inflected", f"周五{zh}"),
        )
        state(
            f"{ja}サーバーは db{at}.tokyo.example にあります",
            ("exact", f"{ja}サーバー"),
            ("partial", f"db{at}.tokyo.example"),
            ("inflected", f"{ja}のサーバー"),
        )
        state(
            f"{ko} 서버는 부산-{at} 데이터센터에 있다",
            ("exact", f"{ko} 서버는 어디"),
            ("partial", f"부산-{at}"),
            ("inflected", f"{ko} 서버의 데이터센터"),
        )
        state(
            f"Сервис {ru} использует порт {7300 + at}",
            ("exact", f"какой порт использует сервис {ru}"),
            ("partial", f"{ru} порт"),
            ("inflected", f"порт {7300 + at}"),
        )
        state(
            f"El módulo de {es} usa la rama release-{at}.x",
            ("exact", f"qué rama usa el módulo de {es}"),
            ("partial", f"{es} rama"),
            ("inflected", f"{es.upper()} rama"),
        )
        state(
            f"Das Modul {_SERVICES[at]} läuft auf München-{at} im Müllerhaus",
            ("exact", f"wo läuft das Modul {_SERVICES[at]}"),
            ("partial", f"Munchen-{at}"),
            ("inflected", f"modul {_SERVICES[at]} müllerhaus"),
        )
        state(
            f"La réunion {_SERVICES[at]} a lieu à l'étage {at + 1} le mardi",
            ("exact", f"où a lieu la réunion {_SERVICES[at]}"),
            ("partial", f"reunion {_SERVICES[at]}"),
            ("inflected", f"réunions {_SERVICES[at]} étage"),
        )
        state(
            f"Cost centre {4400 + at} pays for cluster nova-{at}-prod",
            ("exact", f"which cost centre pays for cluster nova-{at}-prod"),
            ("partial", f"nova-{at}-prod"),
            ("inflected", f"cost centre {4400 + at}"),
        )
        state(
            f"Ticket OPS-{900 + at} tracks the {_SERVICES[at + 10]} migration",
            ("exact", f"which ticket tracks the {_SERVICES[at + 10]} migration"),
            ("partial", f"OPS-{900 + at}"),
            ("inflected", f"migrating {_SERVICES[at + 10]} ticket"),
        )
    return facts, questions


NEGATIVE: Final = (
    *("quarterly revenue", "violin lessons", "火星", "прогноз погоды", "스키장", "天気予報", "recipe for lasagne"),
    *("who won the championship", "zebra enclosure", "tax return", "ZZ99QQ", "hosts.invalid.test", "192.168.77.3"),
    *(
        "vacation policy",
        "guitar chords",
        "大象",
        "кошка",
        "gasolinera",
        "Zahnarzt",
        "boulangerie",
        "yoga",
        "bicycle tyres",
    ),
    *("quantum entanglement", "medieval castles", "horoscope", "kubernetes", "OPS-7777", "lawn mower", "chess opening"),
    *(
        "photosynthesis",
        "nova-77-prod",
        "submarine",
        "volcano",
        "saxophone",
        "harvest festival",
        "cathedral",
        "marathon",
    ),
    *("penguin colony", "origami", "telescope"),
)
"""Questions that no fact answers; the right answer is nothing."""
