import re
from itertools import permutations

import pytest

from activities.openapi.names import Named, function_names

LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def named(*operations: tuple[str, str]) -> list[str]:
    """The names after the paths, in the order given."""
    made = function_names([Named(*each) for each in operations], "path")
    return [made[each] for each in operations]


def by_id(*ids: str | None) -> list[str]:
    operations = [Named("get", f"/{place:02}", each) for place, each in enumerate(ids)]
    made = function_names(operations, "operationId")
    return [made[each.method, each.path] for each in operations]


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("get", "/shop/sales/{saleId}/reviews/{reviewId}", "shop_sales_reviews_getBySaleidAndReviewid"),
        ("delete", "/shop/sales/{saleId}/reviews/{reviewId}", "shop_sales_reviews_eraseBySaleidAndReviewid"),
        ("get", "/", "get"),
        ("get", "/import/class", "_import__class_get"),
        ("get", "/v1.0/it-em", "v1_0_it_em_get"),
        ("put", "/api/v1.2/my-item/{item_id}", "api_v1_2_my_item_putByItem_id"),
        ("post", "/a/{item-id}", "a_postByItem_id"),
        ("get", "/7days", "_7days_get"),
        ("get", "/f/{x}.json", "f_json_getByX"),
        ("post", "/a/{x}:act", "a_act_postByX"),
        ("get", "/a//b/", "a_b_get"),
    ],
)
def test_names_come_from_path_and_method(method: str, path: str, name: str) -> None:
    assert named((method, path)) == [name]


def test_the_method_steps_aside_for_a_longer_path() -> None:
    assert named(("get", "/a"), ("get", "/a/get")) == ["a__get", "a_get_get"]


def test_paths_that_read_alike_stay_apart() -> None:
    names = named(
        ("get", "/a/b"), ("get", "/a_b"), ("get", "/people"), ("get", "/people/{id}"), ("get", "/people/{ID}")
    )
    assert names[0] == "a_b_get"
    assert re.fullmatch("a_b_get_[0-9a-f]{8}", names[1])
    assert len({name.lower() for name in names}) == 5


def test_operations_that_have_no_id_are_told_apart_and_keep_their_names() -> None:
    operations = [
        *(("get", "/people"), ("post", "/people"), ("get", "/people/{id}"), ("put", "/vm.resize-disk")),
        *(("get", "/"), ("get", "/a/b"), ("get", "/a_b")),
    ]
    names = named(*operations)
    assert names[:6] == ["people_get", "people_post", "people_getById", "vm_resize_disk_put", "get", "a_b_get"]
    assert names[6] == "a_b_get_5d7847ba"
    assert named(*operations, ("get", "/unrelated"))[:7] == names


def test_names_do_not_depend_on_order_or_on_unrelated_operations() -> None:
    operations = [("get", "/a/b"), ("get", "/a_b"), ("get", "/A/b"), ("get", "/c/{x}"), ("get", "/c/{X}")]
    first = dict(zip(operations, named(*operations), strict=True))
    for order in permutations(operations):
        assert dict(zip(order, named(*order), strict=True)) == first
    assert named(*operations, ("put", "/unrelated/{y}"))[:-1] == list(first.values())


@pytest.mark.parametrize(
    "path",
    [
        "/" + "long-part/" * 12 + "end",
        "/" + "x" * 200,
        "/заказы/{имя}",
        "/a b/{c:d}",
        "/é/ü",
        "/%20/{a}{b}",
        "/{a}{b}",
        "/日本",
    ],
)
def test_every_path_gets_a_legal_name_that_stays(path: str) -> None:
    [name] = named(("get", path))
    assert LEGAL.fullmatch(name)
    assert named(("get", path), ("get", "/other"))[0] == name


def test_a_long_name_keeps_its_end_in_whole_parts() -> None:
    [name] = named(("get", "/" + "section/" * 12 + "items/{itemId}"))
    assert re.fullmatch(r"(section_)+items_getByItemid_[0-9a-f]{8}", name)


def test_the_document_may_give_a_name_that_is_unique() -> None:
    given = [
        Named("get", "/a", None, ("shop", "find")),
        Named("get", "/b", None, ("x",)),
        Named("get", "/c", None, ("x",)),
    ]
    assert list(function_names(given, "path").values()) == ["shop_find", "b_get", "c_get"]


def test_operation_ids_become_legal_names_and_none_is_lost() -> None:
    long = "x" * 60
    ids = [
        f"{long}ListUsersByTeam",
        f"{long}ListUsersByRole",
        long,
        "site_readNode.jsLogs",
        "List everything",
        "7qd3_run",
    ]
    names = by_id(*ids, "получитьСписок", "getUser", "getuser", "getUser")
    assert names[2:6] == [long, "site_readNode_jsLogs", "List_everything", "_7qd3_run"]
    assert names[7] == "getUser"
    assert all(LEGAL.fullmatch(name) for name in names)
    assert len({name.lower() for name in names}) == 10


def test_a_name_with_a_hash_gives_way_to_one_that_looks_like_it() -> None:
    [first, second] = by_id("getUser", "getuser")
    assert by_id("getUser", "getuser", second)[:2] == [first, second]
    before = [Named("get", "/0", second), Named("get", "/00", "getUser"), Named("get", "/01", "getuser")]
    names = function_names(before, "operationId").values()
    assert len({name.lower() for name in names}) == 3
    long = "x" * 80
    many = [Named("get", f"/{place}", long) for place in range(3)]
    looks = [
        Named("get", f"/-{place}", name) for place, name in enumerate(function_names(many, "operationId").values())
    ]
    assert len(set(function_names([*looks, *many], "operationId").values())) == 6


def test_operations_without_an_id_are_named_after_their_path() -> None:
    assert by_id(None, "") == ["_00_get", "_01_get"]


@pytest.mark.parametrize("own", ["---", "...", "日本", "é" * 80, "-x", "a\nb", "$"])
def test_every_id_gives_a_legal_name(own: str) -> None:
    assert LEGAL.fullmatch(by_id(own)[0])


def test_many_paths_that_clash_are_named_fast() -> None:
    paths = ["/a/" + "/".join("{p}" if place >> bit & 1 else "{P}" for bit in range(9)) for place in range(512)]
    assert len(set(named(*(("get", path) for path in paths)))) == 512
