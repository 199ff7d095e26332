import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from remit.model.tools import ToolId
from remit.upstreams.names import Names, bridged_names, published_name

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")

servers = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,45}", fullmatch=True).filter(
    lambda name: "__" not in name
)
# Letters of which few are needed to collide, and whatever else a server may come up with.
own_names = st.one_of(
    st.text("ab_.", min_size=1, max_size=4),
    st.text("ab", min_size=60, max_size=75),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80),
)
tool_ids = st.builds(ToolId, servers, own_names)


def test_a_name_that_fits_is_published_as_it_is() -> None:
    assert published_name(ToolId("git", "git_status")) == "git__git_status"


def test_a_name_that_does_not_fit_gets_a_suffix_that_never_changes() -> None:
    # R3: the same after a restart, so the very text is part of the contract.
    assert published_name(ToolId("s", "with.dot")) == "s__with_dot_ae84543e43"
    assert published_name(ToolId("s", "with/dot")) != published_name(ToolId("s", "with.dot"))


def test_suffixes_of_names_that_collide_never_change_either() -> None:
    one, other = ToolId("a", "b_c"), ToolId("a_b", "c")
    assert bridged_names([one, other]) == {
        one: "mcp_a_b_c_ab14be7080",
        other: "mcp_a_b_c_02d7306b94",
    }


def test_tools_with_one_spelling_of_server_and_name_are_told_apart() -> None:
    # No server of the gateway has such a name, but the hash is made of that spelling.
    tools = [ToolId("a", "b/c"), ToolId("a/b", "c")]
    assert str(tools[0]) == str(tools[1])
    assert len(set(bridged_names(tools).values())) == 2
    assert published_name(tools[0]) == "a__b_c_d76a7b7266"


@given(st.lists(st.builds(ToolId, st.text("a/1", max_size=5), st.text("a/1", max_size=5))))
def test_any_names_at_all_are_told_apart(tools: Sequence[ToolId]) -> None:
    bridged = bridged_names(tools)
    assert len(set(bridged.values())) == len(set(tools))
    assert all(LEGAL.fullmatch(name) for name in bridged.values())


@given(st.lists(tool_ids, max_size=12))
def test_published_names_are_legal_and_unique(tools: Sequence[ToolId]) -> None:
    names = Names.build(tools)
    published = {names.published(tool) for tool in tools}
    assert len(published) == len(set(tools))
    assert all(LEGAL.fullmatch(name) for name in published)


@given(st.lists(tool_ids, max_size=12))
def test_local_names_are_legal_and_unique_within_a_server(tools: Sequence[ToolId]) -> None:
    names = Names.build(tools)
    local = {(tool.server, names.local(tool)) for tool in tools}
    assert len(local) == len(set(tools))
    assert all(LEGAL.fullmatch(name) for _, name in local)


@given(
    st.lists(tool_ids, max_size=8, unique=True).flatmap(
        lambda t: st.tuples(st.just(t), st.permutations(t))
    )
)
def test_order_does_not_matter(orders: tuple[Sequence[ToolId], Sequence[ToolId]]) -> None:
    one, other = (Names.build(order) for order in orders)
    for tool in orders[0]:
        assert one.published(tool) == other.published(tool)
        assert one.local(tool) == other.local(tool)
        for spelling in (str(tool), f"mcp_{tool.server}_{tool.name}"):
            assert one.find(spelling, None) == other.find(spelling, None)


@given(st.lists(tool_ids, max_size=12))
def test_a_tool_is_found_by_every_spelling(tools: Sequence[ToolId]) -> None:
    names = Names.build(tools)
    published = {names.published(tool) for tool in tools}
    for tool in tools:
        assert names.find(names.published(tool), None) == (tool,)
        assert names.find(names.local(tool), tool.server) == (tool,)
        assert tool in names.find(str(tool), None)
        for spelling in (f"mcp_{tool.server}_{tool.name}", f"mcp__{tool.server}__{tool.name}"):
            assert spelling in published or tool in names.find(spelling, None)


def test_two_names_that_collide_both_get_a_suffix() -> None:
    # R2: never the later one only.
    tools = [ToolId("a_", "b"), ToolId("a", "_b")]
    names = Names.build(tools)
    assert published_name(tools[0]) == published_name(tools[1]) == "a___b"
    published = [names.published(tool) for tool in tools]
    assert all(name.startswith("a___b_") for name in published)
    assert published[0] != published[1]
    # The plain spelling is then a convenience that fits both.
    assert names.find("a___b", None) == tuple(sorted(tools))


def test_a_name_that_copies_a_suffixed_one_collides_with_it() -> None:
    odd = ToolId("s", "odd.name")
    copy = ToolId("s", published_name(odd).removeprefix("s__"))
    names = Names.build([odd, copy])
    assert names.published(odd) != names.published(copy)
    assert published_name(odd) not in {names.published(odd), names.published(copy)}


def test_every_convenience_spelling_of_the_rulings_is_an_alias() -> None:
    tool = ToolId("git", "git_status")
    names = Names.build([tool, ToolId("git", "git_log")])
    for spelling in (
        "git__git_status",
        "mcp_git_git_status",
        "mcp__git__git_status",
        "git/git_status",
    ):
        assert names.find(spelling, None) == (tool,)
        assert names.find(spelling, "git") == (tool,)


def test_a_convenience_spelling_that_fits_several_names_them_all() -> None:
    tools = [ToolId("a", "b_c"), ToolId("a_b", "c")]
    names = Names.build(tools)
    assert names.find("mcp_a_b_c", None) == tuple(sorted(tools))
    assert names.find("mcp_a_b_c", "a_b") == (ToolId("a_b", "c"),)


def test_a_published_name_wins_over_a_convenience_spelling() -> None:
    published = ToolId("mcp", "x__y")
    convenient = ToolId("x", "y")
    names = Names.build([published, convenient])
    assert names.published(published) == "mcp__x__y"
    assert names.find("mcp__x__y", None) == (published,)


def test_bare_names_count_only_on_the_endpoint_of_their_server() -> None:
    names = Names.build([ToolId("git", "status"), ToolId("hg", "status")])
    assert names.find("status", None) == ()
    assert names.find("status", "git") == (ToolId("git", "status"),)
    assert names.find("status", "svn") == ()
    assert names.find("hg__status", "git") == ()
    assert names.find("hg/status", "git") == ()


def test_a_strange_name_is_found_by_both_its_forms_on_its_servers_endpoint() -> None:
    tool = ToolId("s", "工具")
    names = Names.build([tool])
    assert names.find("工具", "s") == names.find(names.local(tool), "s") == (tool,)


def test_near_misses_mean_nothing() -> None:
    # T1: other letter case, spaces, NUL, full-width letters.
    names = Names.build([ToolId("files", "delete")])
    for spelling in (
        "FILES__DELETE",
        " files__delete",
        "files__delete ",
        "files__delete\0",
        "files__\uff44elete",
        "delete",
        "files_delete",
        "",
    ):
        assert names.find(spelling, None) == ()


def test_another_name_of_a_tool_is_an_alias_and_no_second_tool() -> None:
    """S3.37, R34: `update_state` is `update_status`."""
    meant = ToolId("task", "update_status")
    names = Names.build([meant, ToolId("task", "get"), ToolId("epic", "update_status")])

    for spelling in ("task__update_state", "mcp__task__update_state", "task/update_state"):
        assert names.find(spelling, None) == (meant,)
    assert names.find("update_state", "task") == (meant,)
    assert names.find("update_state", "epic") == ()
    assert names.find("epic__update_state", None) == ()
    assert names.published(meant) == "task__update_status"


def test_a_tool_that_has_the_other_name_itself_keeps_it() -> None:
    both = [ToolId("task", "update_status"), ToolId("task", "update_state")]

    names = Names.build(both)

    assert names.find("task__update_state", None) == (both[1],)
    assert names.find("update_state", "task") == (both[1],)
