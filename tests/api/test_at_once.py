"""Of several who change one thing at once with one tag in hand, one does and the others are told.

RFC 9110 13.1.1: a change with `If-Match` overwrites nothing that its sender has not seen.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from tests.api.data_operations import ONTOLOGY, QUERIES, new_entity, new_fact, new_query, new_term
from tests.api.operations import AUDIT, DATASOURCES, new_datasource, new_role
from tests.api.worlds import Api

AT_ONCE = 6
"""How many send their change at the same moment."""


@dataclass(frozen=True, kw_only=True)
class Changed:
    """Something that several change.

    Attributes:
        path: Returns where it is, of something that nobody else needs.
        body: Returns what one of them sends, by its number.
        told: Says which number an answer to a GET shows.
    """

    method: str
    path: Callable[[Api], str]
    body: Callable[[int], Mapping[str, Any]]
    told: Callable[[Any], object]


def new_agent(api: Api) -> str:
    name = f"a{uuid4().hex[:8]}"
    body = {"id": name, "type": "WORKER"}
    assert api.send("POST", "/agents", body=body).status_code == 201
    return f"/agents/{name}"


THINGS: Mapping[str, Changed] = {
    "an agent": Changed(
        method="PATCH",
        path=new_agent,
        body=lambda n: {"epic": f"E{n}"},
        told=lambda shown: shown["epic"].removeprefix("E"),
    ),
    "a role": Changed(
        method="PATCH",
        path=lambda api: f"/roles/{new_role(api)}",
        body=lambda n: {"description": str(n)},
        told=lambda shown: shown["description"],
    ),
    "a query": Changed(
        method="PATCH",
        path=lambda api: f"{QUERIES}/{new_query(api)}",
        body=lambda n: {"constraints": str(n)},
        told=lambda shown: shown["data"]["constraints"],
    ),
    "an entity": Changed(
        method="PUT",
        path=lambda api: f"{ONTOLOGY}/entities/{new_entity(api)}",
        body=lambda n: {"description": str(n)},
        told=lambda shown: shown["data"]["description"],
    ),
    "a term": Changed(
        method="PUT",
        path=lambda api: f"{ONTOLOGY}/glossary/{new_term(api)}",
        body=lambda n: {"definition": str(n)},
        told=lambda shown: shown["data"]["definition"],
    ),
    "a fact": Changed(
        method="PUT",
        path=lambda api: f"{ONTOLOGY}/facts/{new_fact(api)}",
        body=lambda n: {"fact": f"It rains for the time {n}"},
        told=lambda shown: shown["data"]["fact"].removeprefix("It rains for the time "),
    ),
    "a datasource": Changed(
        method="PATCH",
        path=lambda api: f"{DATASOURCES}/{new_datasource(api)}",
        body=lambda n: {"rowLimit": n + 1},
        told=lambda shown: str(shown["data"]["rowLimit"] - 1),
    ),
    "what raises alerts": Changed(
        method="PUT",
        path=lambda _: f"{AUDIT}/alert-config",
        body=lambda n: {"repeated_errors": {"errors": n + 10}},
        told=lambda shown: str(shown["data"]["repeated_errors"]["errors"] - 10),
    ),
    "how long the record is kept": Changed(
        method="PUT",
        path=lambda _: f"{AUDIT}/retention",
        body=lambda n: {"days": n + 3000},
        told=lambda shown: str(shown["data"]["days"] - 3000),
    ),
}


@pytest.mark.parametrize("what", THINGS)
def test_of_several_who_saw_the_same_one_changes_it_and_the_others_are_told(
    api: Api, what: str
) -> None:
    thing = THINGS[what]
    path = thing.path(api)
    seen = {"If-Match": api.tag(path)}

    def change(number: int) -> int:
        body = thing.body(number)
        return api.send(thing.method, path, body=body, headers=seen).status_code

    with ThreadPoolExecutor(AT_ONCE) as several:
        statuses = list(several.map(change, range(AT_ONCE)))

    assert sorted(statuses) == [200, *[412] * (AT_ONCE - 1)]
    assert thing.told(api.get(path)) == str(statuses.index(200))
    assert api.tag(path) != seen["If-Match"]


@pytest.mark.parametrize("what", ["a query", "an entity", "a datasource"])
def test_what_somebody_else_changed_meanwhile_is_not_taken_away(api: Api, what: str) -> None:
    thing = THINGS[what]
    path = thing.path(api)
    seen = {"If-Match": api.tag(path)}
    assert api.send(thing.method, path, body=thing.body(1), headers=seen).status_code == 200

    assert api.send("DELETE", path, headers=seen).status_code == 412
    assert thing.told(api.get(path)) == "1"


@pytest.mark.parametrize("what", ["what raises alerts", "how long the record is kept"])
def test_a_section_can_be_written_without_a_tag_as_older_clients_do(api: Api, what: str) -> None:
    # S2.48
    thing = THINGS[what]
    path = thing.path(api)

    assert api.send(thing.method, path, body=thing.body(7)).status_code == 200
    told = api.send(thing.method, path, body=thing.body(8), headers={"If-Match": '"another"'})

    assert (told.status_code, told.json()["error"]) == (412, "invalid_request")
    assert thing.told(api.get(path)) == "7"
    assert api.send(thing.method, path, body=thing.body(8), headers={"If-Match": "*"}).is_success


def test_another_section_may_change_meanwhile(api: Api) -> None:
    thing = THINGS["what raises alerts"]
    path = thing.path(api)
    seen = {"If-Match": api.tag(path)}

    new_role(api)

    assert api.send(thing.method, path, body=thing.body(9), headers=seen).status_code == 200
