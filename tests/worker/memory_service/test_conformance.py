"""What every caller of the original service relies on, one row after the other, over a socket."""

import pytest

from tests.worker.memory_service.calls import Caller, Running, refused

BUILD = "The build id of release nine is ZQ7X4M2K"
HOST = "Our staging host is blue-7"


async def test_health_needs_no_key(at: Running) -> None:
    for path in ("/api/v1/health", "/health", "/ready"):
        told = (await at.http.get(path)).json()
        assert told["ok"] is True
        assert told["extractor"] == "rules-only"
        assert told["limits"] == {"maxTotalTokens": 2000, "maxIndexItems": 60, "defaultRecallLimit": 8}
        assert told["problems"] == []


@pytest.mark.parametrize("key", ["", "nonsense", "cmi_dev_00000000_" + "A" * 43, "cmi_dev_0_short"])
async def test_a_bad_key_is_refused_whatever_is_wrong_with_it(at: Running, key: str) -> None:
    answers = [await at.with_key(key).send("GET", path) for path in ("/memories", "/stats", "/nothing-here", "/keys")]
    for answer in answers:
        body = refused(answer, 401, "Unauthorized")
        assert body == refused(await at.with_key("").send("GET", "/stats"), 401, "Unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_an_ordinary_key_makes_no_keys(caller: Caller) -> None:
    answer = await caller.send("POST", "/keys", {"name": "another"})
    assert refused(answer, 403, "Forbidden")["requiredScope"] == "keys:manage"


async def test_two_statements_are_two_memories(caller: Caller) -> None:
    told = await caller.send("POST", "/memories", {"items": [{"content": BUILD}, {"content": HOST}]})
    assert told.status_code == 201
    assert told.json()["counts"] == {"stored": 2, "merged": 0, "rejected": 0, "tensions": 0, "promoted": 0}
    first = told.json()["stored"][0]
    assert (first["content"], first["tier"], first["source"], first["accessCount"]) == (BUILD, "L1", "api", 0)


async def test_a_restatement_is_folded_into_what_is_held(caller: Caller) -> None:
    stored = (await caller.remember(HOST))["stored"]
    told = await caller.remember(HOST)
    assert (told["counts"]["stored"], told["counts"]["merged"]) == (0, 1)
    assert [memory["id"] for memory in told["mergedInto"]] == [stored[0]["id"]]
    assert (await caller.get("/stats"))["memories"]["total"] == 1


async def test_what_is_about_one_conversation_is_rejected_with_its_reason(caller: Caller) -> None:
    told = await caller.send("POST", "/memories", {"items": [{"content": "just remember this for now"}]})
    assert told.status_code == 201
    assert told.json()["counts"]["rejected"] == 1
    assert "conversation" in told.json()["rejected"][0]["reason"]


async def test_a_bad_item_does_not_lose_the_good_one(caller: Caller) -> None:
    told = await caller.remember(HOST, "x" * 4001, "ab")
    assert (told["counts"]["stored"], told["counts"]["rejected"]) == (1, 2)
    assert [bool(each["reason"]) for each in told["rejected"]] == [True, True]


async def test_four_thousand_characters_of_any_script_are_taken(caller: Caller) -> None:
    told = await caller.remember("서버" * 1000)
    assert told["counts"]["stored"] == 1


async def test_items_of_another_type_are_an_issue(caller: Caller) -> None:
    answer = await caller.send("POST", "/memories", {"items": "x"})
    assert any(issue.startswith("items") for issue in refused(answer, 400, "InvalidRequest")["issues"])


async def test_recall_finds_what_was_told_and_admits_what_was_not(caller: Caller) -> None:
    await caller.remember(BUILD, HOST)
    assert (await caller.recalled("which release is ZQ7X4M2K?"))[0] == BUILD
    assert await caller.recalled("quarterly revenue") == []


async def test_a_named_identifier_brings_the_body_and_the_rest_is_an_index(caller: Caller) -> None:
    await caller.remember(BUILD, HOST)
    report = await caller.post("/context", {"userMessage": "roll back ZQ7X4M2K"})
    by_reason = {entry["reason"]: entry for entry in report["entries"]}
    assert by_reason["trigger"]["body"] == BUILD
    assert "body" not in by_reason["index"]
    assert BUILD in report["text"]
    assert report["totalTokens"] > 0
    assert report["truncated"] is False


async def test_a_budget_is_kept(caller: Caller) -> None:
    await caller.remember(*(f"Worker {number} of the fleet runs in cell {number * 7}" for number in range(50)))
    report = await caller.post("/context", {"maxTokens": 60})
    assert report["truncated"] is True
    assert 0 < report["totalTokens"] <= 60


async def test_a_turn_teaches_without_a_model_and_a_question_does_not(caller: Caller) -> None:
    taught = await caller.post("/turns", {"userMessage": "Never deploy on Fridays.", "assistantResponse": "Noted."})
    assert taught["counts"]["stored"] >= 1
    asked = await caller.post("/turns", {"userMessage": "Which host is staging?", "assistantResponse": "blue-7"})
    assert set(asked["counts"].values()) == {0}
    assert [each["reason"] for each in asked["rejected"]] == ["question"]


async def test_a_contradiction_stands_in_the_context_until_it_is_resolved(caller: Caller) -> None:
    claims = {"claimA": "Deploys run at noon", "claimB": "Deploys run at night", "actionableQuestion": "When?"}
    answer = await caller.send("POST", "/tensions", claims)
    assert answer.status_code == 201
    tension = answer.json()["tension"]
    assert (tension["impact"], tension["status"]) == ("medium", "active")
    assert (tension["claimA"]["source"], tension["claimB"]["source"]) == ("user", "api")
    reasons = [entry["reason"] for entry in (await caller.post("/context", {}))["entries"]]
    assert reasons == ["tension"]

    path = f"/tensions/{tension['id']}"
    settled = (await caller.post(path, {"resolvedBy": "ops", "pattern": "ask the calendar"}))["tension"]
    assert (settled["status"], settled["resolvedBy"], settled["pattern"]) == ("resolved", "ops", "ask the calendar")
    assert (await caller.post("/context", {}))["entries"] == []
    assert len((await caller.get("/tensions?status=resolved"))["tensions"]) == 1
    assert (await caller.get("/tensions?status=active"))["tensions"] == []


async def test_the_same_claims_in_either_order_are_one_contradiction(caller: Caller) -> None:
    claims = {"claimA": "Deploys run at noon", "claimB": "Deploys run at night", "actionableQuestion": "When?"}
    swapped = claims | {"claimA": claims["claimB"], "claimB": claims["claimA"]}
    first, second = [(await caller.post("/tensions", each))["tension"]["id"] for each in (claims, swapped)]
    assert first == second


async def test_a_failure_makes_a_field_weak_and_warns_in_the_context(caller: Caller) -> None:
    model = await caller.post(
        "/self-model/outcome", {"domain": "Database", "success": False, "failurePattern": "forgot the index"}
    )
    assert model["weakDomains"] == ["database"]
    assert model == await caller.get("/self-model")
    report = await caller.post("/context", {})
    assert [entry["reason"] for entry in report["entries"]] == ["guardrail"]
    assert "forgot the index" in report["text"]


async def test_a_read_only_key_may_not_write(at: Running) -> None:
    reader = await at.caller(scopes=["memories:read"])
    assert await reader.recalled("anything") == []
    writes = [
        ("POST", "/memories", {"items": [{"content": HOST}]}),
        ("POST", "/turns", {"userMessage": HOST, "assistantResponse": ""}),
        ("PATCH", "/memories/x", {"tier": "L2"}),
        ("DELETE", "/memories/x", None),
        ("POST", "/tensions", {"claimA": "a", "claimB": "b", "actionableQuestion": "c"}),
        ("POST", "/tensions/x", {"resolvedBy": "me"}),
        ("POST", "/self-model/outcome", {"domain": "x", "success": True}),
    ]
    for method, path, body in writes:
        answer = await reader.send(method, path, body)
        assert refused(answer, 403, "Forbidden")["requiredScope"] == "memories:write", path
    assert refused(await reader.send("GET", "/stats"), 403, "Forbidden")["requiredScope"] == "stats:read"


async def test_monitoring_may_see_counts_and_no_memories(at: Running) -> None:
    monitor = await at.caller(scopes=["stats:read"])
    assert (await monitor.get("/stats"))["memories"]["total"] == 0
    for path in ("/memories", "/memories/x", "/tensions", "/self-model"):
        assert refused(await monitor.send("GET", path), 403, "Forbidden")["requiredScope"] == "memories:read"
    for path in ("/recall", "/context"):
        refused(await monitor.send("POST", path, {"query": "x"}), 403, "Forbidden")


async def test_a_new_organisation_is_empty(at: Running, caller: Caller) -> None:
    await caller.remember(BUILD)
    other = await at.caller("another")
    stats = await other.get("/stats")
    assert stats["memories"]["byTier"] == {"L0": 0, "L1": 0, "L2": 0, "L3": 0}
    assert stats["memories"]["firstStoredAt"] == 0
    assert (stats["recent"], stats["weakDomains"], stats["activeTensions"]) == ([], [], [])


async def test_stats_and_the_listing_count_the_same(caller: Caller) -> None:
    await caller.post("/memories", {"items": [{"content": BUILD}, {"content": HOST, "tier": "L3"}], "sessionId": "s1"})
    stats, listing = await caller.get("/stats"), await caller.get("/memories")
    assert stats["memories"]["byTier"] == listing["stats"]["byTier"] == {"L0": 0, "L1": 1, "L2": 0, "L3": 1}
    assert stats["memories"]["sessions"] == listing["stats"]["sessions"] == 1
    assert {memory["content"] for memory in stats["recent"]} == {BUILD, HOST}


async def test_one_memory_is_read_moved_changed_and_forgotten(caller: Caller) -> None:
    made = (await caller.remember(HOST))["stored"][0]
    path = f"/memories/{made['id']}"
    assert (await caller.get(path))["memory"] == made
    moved = (await caller.send("PATCH", path, {"tier": "L3"})).json()["memory"]
    assert (moved["tier"], moved["createdAt"]) == ("L3", made["createdAt"])
    edit = {"content": "Our staging host is green-8", "gist": "staging host", "domains": ["infra"]}
    changed = (await caller.send("PATCH", path, edit)).json()["memory"]
    assert {name: changed[name] for name in edit} == edit
    assert (await caller.send("DELETE", path)).json() == {"deleted": True, "id": made["id"]}
    assert (await caller.send("DELETE", path)).json() == {"deleted": False, "id": made["id"]}
    assert refused(await caller.send("GET", path), 404, "NotFound")["id"] == made["id"]
    assert await caller.recalled("staging host") == []


async def test_ids_with_slashes_arrive_whole(caller: Caller) -> None:
    for path, sent in (("/memories/a%2Fb", "a/b"), ("/memories/a%252Fb", "a%2Fb"), ("/memories/%E2%82%AC", "€")):
        body = refused(await caller.send("GET", path), 404, "NotFound")
        assert (body["resource"], body["id"]) == ("memory", sent)
    body = refused(await caller.send("POST", "/tensions/a%2Fb", {"resolvedBy": "me"}), 404, "NotFound")
    assert (body["resource"], body["id"]) == ("tension", "a/b")


async def test_listing_pages_through_all(caller: Caller) -> None:
    await caller.remember(*(f"Worker {number} of the fleet runs in cell {number * 7}" for number in range(12)))
    pages = [(await caller.get(f"/memories?limit=5&offset={offset}"))["memories"] for offset in (0, 5, 10)]
    assert [len(page) for page in pages] == [5, 5, 2]
    assert len({memory["id"] for page in pages for memory in page}) == 12
    assert len((await caller.get("/memories?tier=L2"))["memories"]) == 0


async def test_a_block_indexes_all_tiers_and_counts_what_it_showed(caller: Caller) -> None:
    facts = [
        {"content": f"The {name} berth has a crane", "tier": tier} for name, tier in (("north", "L3"), ("south", "L1"))
    ]
    await caller.post("/memories", {"items": facts})
    shown = (await caller.post("/context", {}))["entries"]
    assert [(entry["tier"], entry["reason"]) for entry in shown] == [("L1", "index"), ("L3", "index")]
    await caller.remember("The east berth has no crane")
    counted = {each["content"]: each["accessCount"] for each in (await caller.get("/memories"))["memories"]}
    assert counted["The north berth has a crane"] == 1
