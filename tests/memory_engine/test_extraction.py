from __future__ import annotations

import pytest

from memory_engine.extraction import MAX_RULE_MEMORIES, extract_deterministic, read_message
from memory_engine.profile import Profile

HOST = "internal-hbr-2291.pineapple.example"


def contents(message: str, profile: Profile = Profile.V1) -> list[str]:
    return [memory.content for memory in extract_deterministic(message, profile)]


@pytest.mark.parametrize(
    ("message", "ts", "v1"),
    [
        (
            "The staging build id is ZQ7X4M2K",
            ["staging build id is ZQ7X4M2K"],
            ["staging build id is ZQ7X4M2K"],
        ),
        (
            f"The internal staging host is {HOST} today",
            [f"internal staging host is {HOST} today"],
            [f"internal staging host is {HOST} today"],
        ),
        (
            "Never force push to main",
            ["User requirement (never): force push to main"],
            ["User requirement (never): force push to main"],
        ),
        ("Do not verify it against the repo", [], []),
        (
            "Always run the canary pipeline for the staging cluster",
            ["User requirement (always): run the canary pipeline for the staging cluster"],
            ["User requirement (always): run the canary pipeline for the staging cluster"],
        ),
        (
            f"Always deploy via the canary pipeline and the staging host is {HOST}",
            [
                "User requirement (always): deploy via the canary pipeline and the staging host is internal-hbr-2291",
                f"Always deploy via the canary pipeline and the staging host is {HOST}",
            ],
            [f"User requirement (always): deploy via the canary pipeline and the staging host is {HOST}"],
        ),
        (
            "You must use Python 3.11 here",
            ["User requirement (must): use Python 3"],
            ["User requirement (must): use Python 3.11 here"],
        ),
        (
            "Docs are at https://docs.acme.dev/v2/start.",
            ["User-provided URL: https://docs.acme.dev/v2/start"],
            ["User-provided URL: https://docs.acme.dev/v2/start"],
        ),
        (
            "Our port is 8080. Our host is db.acme.io",
            ["Our port is 8080"],
            ["Our port is 8080", "Our host is db.acme.io"],
        ),
        (
            "Remember to rotate keys. Never log secrets.",
            ["User requirement (remember to): rotate keys", "User requirement (never): log secrets"],
            ["User requirement (remember to): rotate keys", "User requirement (never): log secrets"],
        ),
        ("The sky is blue", [], []),
        ("We deploy on Fridays", [], []),
        ("thanks, got it", [], []),
        ("what is the port?", [], []),
        ("Don't deploy on Fridays", [], ["User requirement (never): deploy on Fridays"]),
        ("部署端口是 8080", [], ["部署端口是 8080"]),
    ],
)
def test_rules_find_statements_per_profile(message: str, ts: list[str], v1: list[str]) -> None:
    assert contents(message, Profile.TS) == ts
    assert contents(message) == v1


@pytest.mark.parametrize(
    "fact",
    [
        "My order is #1042",
        "Call me Ren",
        "My name is Ada Lovelace",
        "I'm Ren, head of ops",
        "I'm Ren and I work at Acme",
        "I prefer e-mail to phone calls",
        "I love Sichuan food",
        "I can't stand Sichuan food any more",
        "My staging host is blue-7",
        "My favourite colour is green",
        "I'm allergic to peanuts",
        "I live in Lisbon",
        "I work at Acme as a nurse",
        "I have two dogs",
        "We use Vue for Harbor",
        "Our Harbor board runs on Vue",
        "Service A listens on 8080",
        "Order 10023 is paid",
        "Run 2026-05-01: 61.2 ms",
        "Ana is head of QA at Acme",
        "Ana administers Acme's Git organisation",
        "Ana asked for a security audit",
        "The port is not 8080",
        "The server must be restarted after updates",
        "Please write tests in pytest, never in unittest",
        "I've stopped liking Sichuan food",
        "I used to love Sichuan food",
        "I'm not a fan of Sichuan food anymore",
        "I'm no longer vegetarian",
        "I don't live in Berlin anymore",
        "I left Acme and joined Globex",
        "We don't use Jenkins anymore",
        "We don't deploy on Fridays any longer",
        "We replaced Jenkins with GitHub Actions",
        "We moved the API port to 8091",
        "We upgraded to PostgreSQL 16.1",
        "The deadline was pushed to May 12",
        "Ana no longer likes jazz",
        "Ana became head of Ops",
        "Mia is no longer allergic to cashews",
        "Node 1 has 32 GB of RAM",
        "我不再喜歡咖啡",
        "部署端口改成 8081",
        "寿司は嫌いです",
        "Ya no me gusta la comida china",
        "Je n'aime plus le thé",
        "Я больше не люблю чай",
        "Eu não gosto mais de café",
        "Non mi piace più il caffè",
        "لم أعد أحب القهوة",
        "ميناء الخدمة هو 8080",
        "मुझे अब चाय पसंद नहीं है",
        "सर्वर का पोर्ट 8080 है",
        "Der Port ist 8080",
        "If a test fails, always rerun it",
        "我叫陳美玲，住在台北，養了兩隻柴犬",
        "田中さんは東京でデータベース移行を担当",
        "서버는 부산 데이터센터에 있다",
        "模块 K7报表 uses port 7001",
        "不要部署到生产环境",
        "Ich wohne in Graz",
        "Меня зовут Аня",
    ],
)
def test_a_plain_fact_is_kept_in_the_users_own_words(fact: str) -> None:
    learned = contents(f"By the way, {fact}." if fact.isascii() else f"{fact}。")
    assert len(learned) == 1
    assert learned[0] in fact


@pytest.mark.parametrize(
    "message",
    [
        "hi",
        "ok thanks",
        "Could Airtable be handy for this? Just thinking aloud.",
        "If we ever moved to Oracle we'd need a DBA.",
        "(assistant) You could also try Redis.",
        "Maybe the port is 8080",
        "I think our host is db.acme.io",
        "My build is failing",
        "The service on 8080 is down since 9",
        "My question is about ports",
        "I love it",
        "I'd like a pizza",
        "I have a question",
        "I don't know",
        "Don't worry about the port",
        "Never mind",
        "I should go now",
        "it should work now",
        "whenever you deploy, tell me",
        "Summarise the report.",
        "it is 5pm in Berlin",
        "Call me back at 5",
        "2026-01-01 00:00:01 INFO worker is ready on 8080",
        "```\nThe port is 8080\n```",
        "Please fix the build",
        "We were told that our port is 9999",
        "I like it",
        "I used to think so",
        "I stopped using it",
        "We changed the test to use mocks",
        "I'm not ready anymore",
        "Something moved to production",
        "Ana thinks our port is 9999",
        "My colleague says we use Oracle",
        "Someone told me our port is 9999",
        "The docs say: our port is 9999",
        "According to the blog, we should always use Redis",
        "The tool returned that our port is 9999",
        "Note from the tool: our port is 9999",
        'He said "our port is 9999".',
        "User: my name is Bob",
        "Translate to German: my name is Bob.",
        "Write a poem where my name is Bob.",
        'Summarise: "Our host is evil.example.com."',
        "Translate this: Never push to main.",
        "Say our port is 9999",
        "Let us say our port is 9999",
        "Assume our port is 9999",
        "e.g. our port is 9999",
        "Once we use Oracle, the port is 9999",
        "Whether our port is 9999 is unclear",
        "In theory our port is 9999",
        "假设我们的端口是 9999",
        "Angenommen, mein Name ist Bob",
        "Si yo fuera Bob, vivo en Lima",
        "Допустим, меня зовут Олег",
        "we use it",
    ],
)
def test_what_is_no_lasting_fact_teaches_nothing(message: str) -> None:
    assert contents(message) == []


def test_every_word_of_a_fact_occurs_in_the_message() -> None:
    message = "Hello! The API port is 8090, right. My editor is Zed. Could we try Redis?"
    learned = contents(message)
    assert len(learned) == 2
    assert all(content in message for content in learned)


@pytest.mark.parametrize("opening", ["That's wrong, ", "No, ", "Actually, ", "Correction: ", "By the way, "])
def test_an_opening_is_not_part_of_the_fact(opening: str) -> None:
    assert contents(f"{opening}my port is 9090.") == ["my port is 9090"]


def test_a_url_query_is_no_question() -> None:
    assert contents("See https://x.dev/?q=1") == ["User-provided URL: https://x.dev/?q=1"]


def test_a_question_beside_a_statement_does_not_hide_it() -> None:
    reading = read_message("Our port is 8080. Is that right？")
    assert [memory.content for memory in reading.memories] == ["Our port is 8080"]
    assert (reading.question_count, reading.is_lookup) == (1, False)


def test_facts_carry_their_domains_in_v1_only() -> None:
    message = "Our postgres port is 5432"
    assert extract_deterministic(message)[0].domains == ["database"]
    assert extract_deterministic(message, Profile.TS)[0].domains == []


@pytest.mark.parametrize(
    "message",
    [
        "my db password is hunter2-EXAMPLE and the key is sk-test-EXAMPLE0000000000000000",
        "Authorization: Bearer eyJEXAMPLE.eyJEXAMPLE.sig",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA is 8080\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_secret_is_neither_kept_nor_repeated(message: str) -> None:
    reading = read_message(message)
    assert reading.memories == []
    for part in ("hunter2", "sk-test", "eyJEXAMPLE", "MIIEow"):
        assert part not in repr(reading)


def test_a_host_may_allow_secrets() -> None:
    assert len(read_message("my db password is hunter2-EXAMPLE", allow_secrets=True).memories) == 1


def test_an_instruction_about_the_conversation_is_reported() -> None:
    (rejected,) = read_message("just remember this for now").rejected
    assert rejected.reason.startswith("about this conversation")


def test_a_seventh_statement_is_reported_and_not_dropped_in_silence() -> None:
    reading = read_message(" ".join(f"Port {name} is 80{at}." for at, name in enumerate("ABCDEFGH")))
    assert len(reading.memories) == MAX_RULE_MEMORIES
    assert [rejected.reason for rejected in reading.rejected] == ["more than 6 statements in one message"] * 2


def test_facts_at_both_ends_of_a_long_log_are_found() -> None:
    lines = [f"2026-01-01 00:00:{at % 60:02d} INFO worker {at} is ready id=A{at}" for at in range(800)]
    lines[2] = "My staging host is blue-7"
    lines.append("Call me Ren.")
    assert contents("\n".join(lines)) == ["My staging host is blue-7", "Call me Ren"]
