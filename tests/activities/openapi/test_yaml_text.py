import pytest

from activities.openapi.yaml_text import MAX_DEPTH, core_value, parse_yaml


@pytest.mark.parametrize(
    "text", ["no", "on", "yes", "Off", "y", "12:30", "2024-01-01", "1_000", "0b11", "<<", "=", "1.2.3"]
)
def test_words_that_only_yaml_1_1_types_stay_text(text: str) -> None:
    assert core_value(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[
            ("", None),
            ("~", None),
            ("Null", None),
            ("TRUE", True),
            ("false", False),
            ("007", 7),
            ("-3", -3),
            ("0o17", 15),
        ],
        *[("0x1F", 31), ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("+2", 2), (".inf", None), (".nan", None)],
        ("9" * 2_000, "9" * 2_000),
    ],
)
def test_scalars_are_typed_by_the_core_schema(text: str, value: object) -> None:
    made = core_value(text)
    assert made == value
    assert type(made) is type(value)


def test_keys_keep_their_text_and_quoted_scalars_are_text() -> None:
    read = parse_yaml("200: ok\non: x\n1.0: y\nnull: z\nquoted: '12'\nblock: |\n  no\n")
    assert read == {"200": "ok", "on": "x", "1.0": "y", "null": "z", "quoted": "12", "block": "no\n"}


def test_tags_give_the_types_of_json_and_nothing_else() -> None:
    text = "a: !!str 12\nb: !!int '12'\nc: !!python/object/apply:os.system ['ls']\nd: !!binary aGk=\ne: !mine x"
    assert parse_yaml(text) == {"a": "12", "b": 12, "c": ["ls"], "d": "aGk=", "e": "x"}


def test_aliases_give_the_value_they_name_and_merge_keys_join_it() -> None:
    text = "base: &b {a: 1, b: 2}\nsame: *b\nmore: {<<: *b, b: 3}\nmany: {<<: [*b, {c: 4}]}\nplain: {<<: text}"
    read = parse_yaml(text)
    assert read["same"] == {"a": 1, "b": 2}
    assert read["more"] == {"a": 1, "b": 3}
    assert read["many"] == {"a": 1, "b": 2, "c": 4}
    assert read["plain"] == {"<<": "text"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: {c: 1, c: 2}", "line 2: the key 'c' stands twice"),
        ("a: 1\n---\nb: 2", "several YAML documents"),
        ("", "empty"),
        ("a: *b", "nothing is anchored as b"),
        ("a: &a [*a]", "nothing is anchored as a"),
        ("? [a]\n: b", "a key that is not text"),
        ("? *b\n: b", "anchored"),
        ("x: &b k\n? *b\n: v", "a key that is not text"),
        ("a:\n\t- b", "line 2"),
        ("a: [", "line 2"),
        ("- " * (MAX_DEPTH + 1) + "a", "nested more than"),
        ("[" * 100_000, "depth"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_yaml(text)
