"""The tools on queries, together: 3-16 and 23 of S2.10."""

from typing import Final

from remit.data.desk import Desk
from remit.data.queries.approved_tools import APPROVED_TOOLS
from remit.data.queries.statement_tools import STATEMENT_TOOLS
from remit.data.queries.suggestion_tools import SUGGESTION_TOOLS
from remit.servers.toolbox import Tool

QUERY_TOOLS: Final[tuple[Tool[Desk], ...]] = (
    *STATEMENT_TOOLS,
    *APPROVED_TOOLS,
    *SUGGESTION_TOOLS,
)
