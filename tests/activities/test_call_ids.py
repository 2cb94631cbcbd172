import re

from activities.call_ids import mint_call_id


def test_an_id_is_nine_small_letters_or_digits() -> None:
    assert all(re.fullmatch("[a-z0-9]{9}", mint_call_id("turn", 0, place)) for place in range(200))


def test_the_same_place_has_the_same_id_for_ever() -> None:
    # The value is in stored histories: a change of it breaks answers to calls that are still open.
    assert mint_call_id("turn-c1-t1", 0, 0) == mint_call_id("turn-c1-t1", 0, 0) == "t1jn1zawl"


def test_different_places_rounds_and_turns_have_different_ids() -> None:
    places = [(turn, number, place) for turn in ("a", "a1", "b") for number in range(30) for place in range(30)]
    assert len({mint_call_id(*at) for at in places}) == len(places)


def test_a_turn_id_that_is_not_text_utf8_knows_still_gets_one() -> None:
    assert len(mint_call_id("\ud83d", 1, 1)) == 9
