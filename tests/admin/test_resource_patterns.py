"""`remit check` warns of patterns about resources that no normal URI fits."""

from dataclasses import replace

import pytest

from remit.admin.complaints import Complaints
from remit.admin.resource_patterns import resource_pattern_problems
from remit.model.declaration import Declaration
from remit.model.grants import AgentTypeRule, Grant
from remit.model.limits import Limit
from remit.model.principals import AgentType
from remit.model.roles import Role

COMPLAINTS = Complaints(file="remit.yaml", positions={})
LISTED = {"fs": frozenset({"resource:file:///my notes/a", "read"})}


def declared(*patterns: str) -> Declaration:
    return Declaration(roles={"r": Role(name="r", deny=patterns)})


@pytest.mark.parametrize(
    "uri",
    [
        "*",
        "*secret*",
        "file:*",
        "file://*",
        "file:///*",
        "file:///docs/*",
        "file:///docs/*/a*",
        "file:///my%20notes/*",
        "http*",
        "https://example.test/*",
        "greeting://World*",
        "greeting://World/*",
        "memo:*",
        "memo:abc",
        "wiki://page/{id}",
        "WIKI://Page/{id}",
    ],
)
def test_what_a_normal_uri_can_fit_is_fine(uri: str) -> None:
    assert not list(resource_pattern_problems(declared(f"fs/resource:{uri}"), COMPLAINTS, {}))


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("file:///my notes/*", "percent-encoded"),
        ("*/my notes/*", "percent-encoded"),
        ("file:///%73ecret*", "percent-encoded"),
        ("FILE:///docs/*", "lower case"),
        ("file:/docs/*", "file:///"),
        ("file://localhost/*", "file:///"),
        ("file:///docs/../*", "dot segment"),
        ("docs/a", "scheme"),
    ],
)
def test_what_only_a_listed_uri_can_fit_is_told(uri: str, why: str) -> None:
    (problem,) = resource_pattern_problems(declared(f"fs/resource:{uri}"), COMPLAINTS, {})

    assert problem.code == "odd-resource"
    assert why in problem.message


def test_every_rule_is_looked_at_and_what_is_on_offer_is_fine() -> None:
    odd = "fs/resource:file:///my notes/*"
    declaration = replace(
        declared(odd, "fs/read"),
        agent_types=(AgentTypeRule(type=AgentType.WORKER, allow=(odd,)),),
        grants=(
            Grant(subject="user:ann", effect="deny", server="fs"),
            Grant(subject="user:ann", effect="deny", tool=odd),
        ),
        limits=(
            Limit(principal="user:ann", calls=1, seconds=60),
            Limit(principal="user:ann", tool="mcp__fs__resource:a b", calls=1, seconds=60),
        ),
    )

    found = [one.message for one in resource_pattern_problems(declaration, COMPLAINTS, {})]
    listed = list(resource_pattern_problems(declaration, COMPLAINTS, LISTED))

    assert [message.partition(":")[0] for message in found] == [
        "'roles.r.deny[0]'",
        "'agent_types.WORKER.allow[0]'",
        "'grants[1].tool'",
        "'limits[1].tool'",
    ]
    assert len(listed) == 1
