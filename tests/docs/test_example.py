"""The example of nine roles is the mapping that remit ships (S0.8)."""

from tests.conformance.tables import grants
from tests.docs.blocks import REPOSITORY

from remit.admin.declaration import load_declaration, parse_document
from remit.admin.default_roles import default_document

EXAMPLE = REPOSITORY / "examples" / "nine-roles" / "remit.yaml"


def test_the_example_has_the_nine_roles_that_ship() -> None:
    loaded, shipped = load_declaration(EXAMPLE), parse_document(default_document())

    assert loaded.declaration.roles == shipped.declaration.roles
    assert list(loaded.declaration.servers) == ["git", "github", "jira"]
    assert loaded.warnings == ()


def test_the_example_grants_the_golden_table() -> None:
    granted = {
        (role.name, server, tool)
        for role in load_declaration(EXAMPLE).declaration.roles.values()
        for server, tools in role.tools.items()
        for tool in tools
    }

    assert granted == set(grants())
