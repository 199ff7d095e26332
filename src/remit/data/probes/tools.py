"""Tools that look at the data itself (S2.10, 25 to 28)."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from remit.data.desk import Desk, Result
from remit.data.ontology.takes import COLUMN_NAME, DATASOURCE, READS, TABLE
from remit.data.probes.outputs import (
    PROBE,
    PROBES,
    RELATIONSHIPS,
    SAMPLE,
    probe_result,
    probes_result,
    relationships_result,
    sample_result,
)
from remit.data.probes.probing import (
    MOST_PROBED,
    USUAL_SAMPLED,
    probe_column,
    probe_columns,
    sample_rows,
)
from remit.data.probes.relationships import MOST_PAIRS, probe_relationships
from remit.data.probes.rows import MOST_SAMPLED
from remit.servers.arguments import Arguments
from remit.servers.shapes import count, given, text
from remit.servers.toolbox import Tool

_LONGEST_NAME: Final = 512


async def _sample(desk: Desk, arguments: Arguments) -> Result:
    preview = await sample_rows(
        desk,
        arguments.text("table"),
        limit=arguments.number("limit", USUAL_SAMPLED),
        datasource=arguments.find_text("datasource"),
    )
    return sample_result(preview)


async def _probe_column(desk: Desk, arguments: Arguments) -> Result:
    probe = await probe_column(
        desk,
        arguments.text("table"),
        arguments.text("column"),
        datasource=arguments.find_text("datasource"),
    )
    return probe_result(probe)


async def _probe_columns(desk: Desk, arguments: Arguments) -> Result:
    probed = await probe_columns(
        desk,
        [(each.text("table"), each.text("column")) for each in _columns(arguments)],
        datasource=arguments.find_text("datasource"),
    )
    return probes_result(probed)


def _columns(arguments: Arguments) -> Sequence[Arguments]:
    given_ones = cast("Sequence[Mapping[str, object]]", arguments.items("columns"))
    return [Arguments(each) for each in given_ones]


async def _probe_relationship(desk: Desk, arguments: Arguments) -> Result:
    seen = await probe_relationships(
        desk,
        arguments.find_text("from_entity"),
        arguments.find_text("to_entity"),
        datasource=arguments.find_text("datasource"),
    )
    return relationships_result(seen)


PROBE_TOOLS: Final[Sequence[Tool[Desk]]] = (
    Tool(
        name="probe_column",
        title="Probe a column",
        description=(
            "What is in a column: rows, distinct values, share of nulls, least and greatest value,"
            " lengths, common values, whether it is fit to join by, and what it is for. Of a large"
            " table some rows are examined, and `is_estimate` is true."
        ),
        takes=given(
            {"table": TABLE, "column": COLUMN_NAME, "datasource": DATASOURCE}, ["table", "column"]
        ),
        gives=PROBE,
        hints=READS,
        run=_probe_column,
    ),
    Tool(
        name="probe_columns",
        title="Probe columns",
        description=(
            f"What is in each of up to {MOST_PROBED} columns; one that cannot be probed has an"
            " `error` and does not keep the others from being."
        ),
        takes=given(
            {
                "columns": {
                    "type": "array",
                    "items": given({"table": TABLE, "column": COLUMN_NAME}, ["table", "column"]),
                    "minItems": 1,
                    "maxItems": MOST_PROBED,
                    "description": "Columns, each with its table.",
                },
                "datasource": DATASOURCE,
            },
            ["columns"],
        ),
        gives=PROBES,
        hints=READS,
        run=_probe_columns,
    ),
    Tool(
        name="probe_relationship",
        title="Probe relationships",
        description=(
            "Whether the rows of one entity are found in another: cardinality, match rate, orphans."
            " Looks at the joins that are stated and at foreign keys; with both ends, also at"
            " columns that look like a join, of which those that are none are"
            f" `rejected_candidates`. At most {MOST_PAIRS} pairs of columns at once."
        ),
        takes=given(
            {
                "from_entity": text("An entity, an alias of one, or a table.", _LONGEST_NAME),
                "to_entity": text("The other one.", _LONGEST_NAME),
                "datasource": DATASOURCE,
            }
        ),
        gives=RELATIONSHIPS,
        hints=READS,
        run=_probe_relationship,
    ),
    Tool(
        name="sample",
        title="Sample a table",
        description=(
            "A few rows of a table, in no order. Columns whose names are those that secrets have"
            " are left out and named in `withheld_columns`."
        ),
        takes=given(
            {
                "table": TABLE,
                "limit": count("Most rows.", USUAL_SAMPLED, 1, MOST_SAMPLED),
                "datasource": DATASOURCE,
            },
            ["table"],
        ),
        gives=SAMPLE,
        hints=READS,
        run=_sample,
    ),
)
