from activities.openapi.notes import Notes


def test_each_schema_is_looked_at_once_for_each_topic() -> None:
    notes: Notes[int] = Notes(meanwhile=0)
    asked: list[str] = []

    def find() -> int:
        asked.append("")
        return len(asked)

    node: dict[str, object] = {}
    assert [notes.about(node, find), notes.about(node, find), notes.about(node, find, "other")] == [1, 1, 2]
    assert notes.about({}, find) == 3


def test_a_schema_that_leads_back_to_itself_has_a_value_meanwhile() -> None:
    notes: Notes[int] = Notes(meanwhile=-1)
    node: dict[str, object] = {}
    assert notes.about(node, lambda: notes.about(node, lambda: 5)) == -1


def test_schemas_made_while_reading_are_never_taken_for_one_another() -> None:
    notes: Notes[int] = Notes(meanwhile=0)
    assert [notes.about({}, lambda place=place: place) for place in range(100)] == list(range(100))  # type: ignore[misc]
