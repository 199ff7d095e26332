"""Which values are never shown by the way: those of secrets, and of tables that are sensitive.

Whoever is allowed to read them asks for them by a query, which is kept, and told of (S2.48).
"""

from remit.calls.redact import is_secret_name
from remit.data.engines.allowing import matches
from remit.model.data import Datasource
from remit.model.ontology import SchemaTable


def is_hidden(datasource: Datasource, table: SchemaTable, column: str) -> bool:
    """Say whether a probe keeps the values of a column to itself."""
    return is_secret_name(column) or matches(
        datasource.sensitive, datasource, table.schema, table.name
    )
