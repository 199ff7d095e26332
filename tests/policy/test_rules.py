"""The index of patterns: it finds what reading the list from the top finds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.model.decisions import Layer, LayerVerdict, Verdict
from remit.model.tools import ToolId
from remit.policy.patterns import Pattern
from remit.policy.rules import PatternRule, PatternRules

law = settings(deadline=None, max_examples=300)

# Few letters, so that pieces repeat and overlap; a tool's name may hold anything.
parts = st.text("ab_/*", min_size=1, max_size=6)
servers = st.sampled_from(("a", "b", "a_", "*", "a*", "*b"))
patterns = st.one_of(
    st.builds("{}/{}".format, servers, parts), st.builds("mcp__{}__{}".format, servers, parts)
)
tools = st.builds(
    ToolId, st.sampled_from(("a", "b", "a_")), st.text("ab_/", min_size=1, max_size=8)
)


def index(texts: list[str]) -> PatternRules:
    return PatternRules.index(
        PatternRule(
            pattern=Pattern.parse(text),
            position=at,
            verdict=LayerVerdict(layer=Layer.DENY, verdict=Verdict.DENY, rule=f"[{at}]"),
        )
        for at, text in enumerate(texts)
    )


@law
@given(texts=st.lists(patterns, max_size=8), tool=tools)
def test_the_first_rule_that_fits_is_found(texts: list[str], tool: ToolId) -> None:
    fitting = [at for at, text in enumerate(texts) if Pattern.parse(text).matches(tool)]

    rule = index(texts).find_rule(tool)
    verdict = index(texts).find(tool)

    assert (rule.position if rule else None) == (fitting[0] if fitting else None)
    assert (verdict.rule if verdict else None) == (f"[{fitting[0]}]" if fitting else None)


@law
@given(texts=st.lists(patterns, max_size=4))
def test_a_list_reaches_any_server_when_one_pattern_names_none(texts: list[str]) -> None:
    reaches = any(Pattern.parse(text).literal_server is None for text in texts)

    assert index(texts).reaches_any_server is reaches


def test_a_piece_within_is_found_wherever_it_begins() -> None:
    assert index(["*/xy*"]).find(ToolId("s", "/xyz")) is not None
    assert index(["*/xy*"]).find(ToolId("s", "xyz")) is not None
    assert index(["*/x*"]).find(ToolId("s", "a/b/x")) is not None
    assert index(["*/x*"]).find(ToolId("s", "ax")) is None
