"""The configuration of the toolsets in the shapes of S2.13-S2.16."""

from itertools import product

import pytest

from remit.admin.data_tools import DESCRIPTIONS
from remit.admin.toolset_config import ToolInfo, data_server_of, options_sent, toolset_config
from remit.errors import BadCall, UnknownToolGroup
from remit.model.declaration import Declaration
from remit.model.grants import ToolsetOptions
from remit.model.servers import ServerConfig, Transport
from remit.policy.toolsets import LOADOUTS

FLAGS = [True, False]


@pytest.mark.parametrize(
    ("user", "query", "ontology", "sizes"),
    [
        (True, True, True, (42, 49, 3, 49)),
        (False, True, True, (20, 49, 3, 49)),
        (True, True, False, (42, 22, 3, 44)),
        (True, False, True, (42, 30, 3, 49)),
        (True, False, False, (42, 3, 3, 44)),
        (False, False, False, (20, 3, 3, 22)),
    ],
    ids=["all", "user off", "query only", "ontology only", "developer none", "none"],
)
def test_the_lists_have_the_sizes_of_the_table(
    user: bool, query: bool, ontology: bool, sizes: tuple[int, ...]
) -> None:
    # S2.5, S2.9, S2.14, S2.17, S2.49
    config = toolset_config(
        ToolsetOptions(
            allow_ontology_maintenance=user,
            add_query_tools=query,
            add_ontology_maintenance=ontology,
        )
    )

    assert tuple(map(len, (config.user, config.developer, config.agent, config.enabled))) == sizes
    assert config.groups == {
        "user": {"allowOntologyMaintenance": user},
        "developer": {"addQueryTools": query, "addOntologyMaintenance": ontology},
        "agent_tools": {},
    }


def test_every_list_is_in_the_one_order_without_repetition_and_in_words() -> None:
    # S2.9, S2.14
    order = {name: place for place, name in enumerate(LOADOUTS)}
    for user, query, ontology in product(FLAGS, FLAGS, FLAGS):
        config = toolset_config(
            ToolsetOptions(
                allow_ontology_maintenance=user,
                add_query_tools=query,
                add_ontology_maintenance=ontology,
            )
        )
        for listed in (config.user, config.developer, config.agent, config.enabled):
            places = [order[one.name] for one in listed]
            assert places == sorted(set(places))
            assert all(
                one == ToolInfo(name=one.name, description=DESCRIPTIONS[one.name]) for one in listed
            )


def test_every_tool_has_a_line_of_its_own() -> None:
    assert tuple(DESCRIPTIONS) == tuple(LOADOUTS)
    assert len(set(DESCRIPTIONS.values())) == len(LOADOUTS)
    assert all(text.endswith(".") and "\n" not in text for text in DESCRIPTIONS.values())


def test_what_is_not_sent_is_not_false() -> None:
    # S2.13
    assert options_sent({"addQueryTools": None, "addOntologyMaintenance": False}, {}) == {
        "addOntologyMaintenance": False
    }
    assert options_sent({}, {}) == {}


def test_older_clients_send_the_same_by_group() -> None:
    # S2.15
    groups = {
        "user": {"allowOntologyMaintenance": False},
        "developer": {"addQueryTools": True, "addOntologyMaintenance": None},
        "agent_tools": {},
    }

    assert options_sent({"addQueryTools": True}, groups) == {
        "allowOntologyMaintenance": False,
        "addQueryTools": True,
    }


def test_an_unknown_group_has_an_error_of_its_own() -> None:
    # S2.15
    with pytest.raises(UnknownToolGroup, match="did you mean 'developer'"):
        options_sent({}, {"developers": {}})
    with pytest.raises(UnknownToolGroup, match="groups: user, developer, agent_tools"):
        options_sent({}, {"zzz": {}})


def test_an_option_of_another_group_and_two_values_are_refused() -> None:
    with pytest.raises(BadCall, match="an option of 'developer' alone"):
        options_sent({}, {"user": {"addQueryTools": False}})
    with pytest.raises(BadCall, match="two values"):
        options_sent({"addQueryTools": True}, {"developer": {"addQueryTools": False}})


def test_the_data_server_is_found_under_any_name() -> None:
    # R33
    def named(name: str, builtin: str = "") -> Declaration:
        config = ServerConfig(name=name, transport=Transport.BUILTIN, builtin=builtin)
        git = ServerConfig(name="git", transport=Transport.BUILTIN, builtin="git")
        return Declaration(servers={"git": git, name: config})

    assert data_server_of(Declaration()) == "data"
    assert data_server_of(named("data")) == "data"
    assert data_server_of(named("warehouse", "data")) == "warehouse"
