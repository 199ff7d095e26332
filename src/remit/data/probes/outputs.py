"""What the probing tools answer, and the schemas of it."""

from collections.abc import Sequence
from typing import Final

from remit.data.desk import Result
from remit.data.ontology.shown import LABEL, shown_labels
from remit.data.probes.candidates import Candidate
from remit.data.probes.pairs import Pair
from remit.data.probes.probing import Probe, Probed
from remit.data.probes.relationships import Rejected, Relationships
from remit.data.probes.rows import Preview
from remit.model.ontology import Cardinality, ColumnRole
from remit.servers.shapes import (
    ANY,
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    NUMBER,
    TEXT,
    list_of,
    one_of,
    or_null,
    record,
)

COLUMN: Final = record(name=TEXT, type=TEXT)

SAMPLE: Final = record(
    table=TEXT,
    columns=list_of(COLUMN),
    rows=list_of(list_of(ANY)),
    row_count=COUNT,
    truncated=FLAG,
    withheld_columns=list_of(TEXT),
)

PROBE: Final = record(
    table=TEXT,
    column=TEXT,
    type=TEXT,
    nullable=FLAG,
    description=TEXT,
    row_count=COUNT,
    row_count_is_estimate=FLAG,
    rows_examined=COUNT,
    sampling=one_of("all", "spread", "first"),
    is_estimate=FLAG,
    distinct_count=COUNT,
    null_rate=NUMBER,
    cardinality_ratio=NUMBER,
    min=ANY,
    max=ANY,
    min_length=COUNT_OR_NULL,
    max_length=COUNT_OR_NULL,
    joinability=record(is_joinable=FLAG, reason=TEXT),
    sample_values=list_of(ANY),
    is_sensitive=FLAG,
    role=one_of(*ColumnRole),
    role_is_inferred=FLAG,
    enum_labels=list_of(LABEL),
)

ERROR: Final = record(code=TEXT, message=TEXT)

PROBES: Final = record(
    results=list_of(record(("probe", "error"), table=TEXT, column=TEXT, probe=PROBE, error=ERROR)),
    failed=COUNT,
)

PAIR: Final = record(
    from_entity=TEXT,
    to_entity=TEXT,
    from_column=TEXT,
    to_column=TEXT,
    origin=one_of("ontology", "foreign_key", "name"),
    label=TEXT,
    description=TEXT,
    stated_cardinality=or_null(one_of(*Cardinality)),
    cardinality=one_of(*Cardinality),
    match_rate=NUMBER,
    rows_examined=COUNT,
    is_estimate=FLAG,
    rows_with_value=COUNT,
    orphan_rows=COUNT,
    orphan_values=COUNT,
    sample_orphans=list_of(ANY),
)

RELATIONSHIPS: Final = record(
    relationships=list_of(PAIR),
    rejected_candidates=list_of(
        record(
            from_entity=TEXT,
            to_entity=TEXT,
            from_column=TEXT,
            to_column=TEXT,
            origin=TEXT,
            reason=TEXT,
            match_rate=or_null(NUMBER),
        )
    ),
    truncated=FLAG,
)

_DIGITS: Final = 4


def sample_result(preview: Preview) -> Result:
    """Return a sample as `SAMPLE` describes it."""
    return {
        "table": preview.table.full_name,
        "columns": [{"name": each.name, "type": each.type} for each in preview.rows.columns],
        "rows": [list(row) for row in preview.rows.rows],
        "row_count": len(preview.rows.rows),
        "truncated": preview.rows.truncated,
        "withheld_columns": list(preview.withheld),
    }


def probe_result(probe: Probe) -> Result:
    """Return a probe as `PROBE` describes it."""
    seen = probe.seen
    return {
        "table": seen.table.full_name,
        "column": seen.column.name,
        "type": seen.column.type,
        "nullable": seen.column.nullable,
        "description": probe.description,
        "row_count": seen.size.rows,
        "row_count_is_estimate": seen.size.is_estimate,
        "rows_examined": seen.examined,
        "sampling": seen.sampling.value,
        "is_estimate": seen.is_estimate,
        "distinct_count": seen.distinct,
        "null_rate": round(seen.null_rate, _DIGITS),
        "cardinality_ratio": round(seen.cardinality_ratio, _DIGITS),
        "min": seen.least,
        "max": seen.greatest,
        "min_length": seen.shortest,
        "max_length": seen.longest,
        "joinability": {"is_joinable": probe.is_joinable, "reason": probe.reason},
        "sample_values": list(seen.samples),
        "is_sensitive": seen.is_sensitive,
        "role": probe.role.value,
        "role_is_inferred": probe.is_inferred,
        "enum_labels": shown_labels(probe.labels),
    }


def probes_result(probed: Sequence[Probed]) -> Result:
    """Return a batch as `PROBES` describes it."""
    results = [_probed_result(each) for each in probed]
    return {"results": results, "failed": sum("error" in each for each in results)}


def _probed_result(probed: Probed) -> Result:
    asked: Result = {"table": probed.table, "column": probed.column}
    if isinstance(probed.outcome, Probe):
        return asked | {"probe": probe_result(probed.outcome)}
    failure = probed.outcome
    return asked | {"error": {"code": str(failure.code), "message": str(failure)}}


def relationships_result(seen: Relationships) -> Result:
    """Return what joins entities as `RELATIONSHIPS` describes it."""
    return {
        "relationships": [_pair_result(candidate, pair) for candidate, pair in seen.found],
        "rejected_candidates": [_rejected_result(each) for each in seen.rejected],
        "truncated": seen.truncated,
    }


def _pair_result(candidate: Candidate, pair: Pair) -> Result:
    stated = candidate.stated
    return _candidate_result(candidate) | {
        "label": "" if stated is None else stated.label,
        "description": "" if stated is None else stated.description,
        "stated_cardinality": None if stated is None else stated.cardinality.value,
        "cardinality": pair.cardinality.value,
        "match_rate": round(pair.match_rate, _DIGITS),
        "rows_examined": pair.examined,
        "is_estimate": pair.is_estimate,
        "rows_with_value": pair.with_value,
        "orphan_rows": pair.with_value - pair.matched,
        "orphan_values": pair.orphan_values,
        "sample_orphans": list(pair.orphans),
    }


def _rejected_result(rejected: Rejected) -> Result:
    pair = rejected.pair
    rate = None if pair is None else round(pair.match_rate, _DIGITS)
    return _candidate_result(rejected.candidate) | {"reason": rejected.reason, "match_rate": rate}


def _candidate_result(candidate: Candidate) -> Result:
    return {
        "from_entity": candidate.source.name,
        "to_entity": candidate.target.name,
        "from_column": candidate.one.name,
        "to_column": candidate.other.name,
        "origin": candidate.origin,
    }
