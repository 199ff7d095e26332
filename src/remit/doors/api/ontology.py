"""What the data of a datasource means: read and stated by reviewers, whose word is final (S2.43).

What is written here has the source `manual`, which outweighs what models and scans say.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Response

from remit.data.ontology.columns import ColumnMeaning
from remit.data.ontology.entities import Entity
from remit.data.ontology.facts import Fact
from remit.data.ontology.glossary import Term
from remit.data.ontology.names import column_key, folded, relationship_key
from remit.data.ontology.relationships import Relationship
from remit.doors.api.access import ByProjectReviewer, Reason, Reviewer
from remit.doors.api.data_desk import IN_DATASOURCE, LONGEST_NAMED, DatasourceName, use_tool
from remit.doors.api.envelope import Envelope
from remit.doors.api.known import Changing, GoneShape, Kind, known_of
from remit.doors.api.ontology_shapes import (
    ColumnBody,
    ColumnMeaningShape,
    EntityBody,
    EntityShape,
    FactBody,
    FactShape,
    RelationshipBody,
    RelationshipShape,
    TermBody,
    TermShape,
)
from remit.doors.api.paging import Cursor, Limit, Page
from remit.model.data import DataCode
from remit.model.ontology import ItemKind

router = APIRouter(prefix=f"{IN_DATASOURCE}/ontology", tags=["ontology"])

Named = Annotated[str, Path(min_length=1, max_length=LONGEST_NAMED)]

ENTITIES: Final[Kind[Entity, EntityShape]] = Kind(
    kind=ItemKind.ENTITY,
    noun="entity",
    missing=DataCode.ENTITY_NOT_FOUND,
    every=lambda known: list(known.entities.values()),
    show=EntityShape.of,
)
COLUMNS: Final[Kind[ColumnMeaning, ColumnMeaningShape]] = Kind(
    kind=ItemKind.COLUMN,
    noun="meaning of a column",
    missing=DataCode.COLUMN_NOT_FOUND,
    every=lambda known: list(known.columns.values()),
    show=ColumnMeaningShape.of,
)
RELATIONSHIPS: Final[Kind[Relationship, RelationshipShape]] = Kind(
    kind=ItemKind.RELATIONSHIP,
    noun="relationship",
    missing=DataCode.RELATIONSHIP_NOT_FOUND,
    every=lambda known: list(known.relationships.values()),
    show=RelationshipShape.of,
)
TERMS: Final[Kind[Term, TermShape]] = Kind(
    kind=ItemKind.TERM,
    noun="term",
    missing=DataCode.TERM_NOT_FOUND,
    every=lambda known: list(known.terms.values()),
    show=TermShape.of,
)
FACTS: Final[Kind[Fact, FactShape]] = Kind(
    kind=ItemKind.FACT,
    noun="fact",
    missing=DataCode.FACT_NOT_FOUND,
    every=lambda known: list(known.facts.values()),
    show=FactShape.of,
)


@router.get("/entities", operation_id="entities.list")
async def list_entities(
    by: ByProjectReviewer, datasource: DatasourceName, limit: Limit = 100, cursor: Cursor = None
) -> Envelope[Page[EntityShape]]:
    """Show the entities, by name."""
    known = await known_of(by, datasource)
    return ENTITIES.page(known, ENTITIES.every(known), cursor=cursor, limit=limit)


@router.get("/entities/{name:path}", operation_id="entities.get")
async def get_entity(
    by: ByProjectReviewer, datasource: DatasourceName, name: Named, response: Response
) -> Envelope[EntityShape]:
    """Show one entity, by its name in any case."""
    return ENTITIES.answered(await known_of(by, datasource), folded(name), response)


@router.put("/entities/{name:path}", operation_id="entities.put")
async def put_entity(asked: Changing, name: Named, body: EntityBody) -> Envelope[EntityShape]:
    """State an entity, or more of one; send `If-Match: "v0"` for one that is not there yet."""
    return await asked.put(
        ENTITIES, folded(name), "update_entity", name=name, **body.model_dump(mode="json")
    )


@router.delete("/entities/{name:path}", operation_id="entities.remove")
async def remove_entity(asked: Changing, name: Named) -> Envelope[GoneShape]:
    """Take an entity away that has no relationships."""
    return await asked.remove(ENTITIES, folded(name), "delete_entity", name=name)


@router.get("/columns", operation_id="columns.list")
async def list_columns(
    by: ByProjectReviewer, datasource: DatasourceName, limit: Limit = 100, cursor: Cursor = None
) -> Envelope[Page[ColumnMeaningShape]]:
    """Show what is known of columns beside what the database says."""
    known = await known_of(by, datasource)
    return COLUMNS.page(known, COLUMNS.every(known), cursor=cursor, limit=limit)


@router.get("/columns/{table}/{column}", operation_id="columns.get")
async def get_column(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    table: Named,
    column: Named,
    response: Response,
) -> Envelope[ColumnMeaningShape]:
    """Show what is known of a column; its table as `table` or `schema.table`."""
    key = await _column(by, datasource, table, column)
    return COLUMNS.answered(await known_of(by, datasource), key, response)


@router.put("/columns/{table}/{column}", operation_id="columns.put")
async def put_column(
    asked: Changing, table: Named, column: Named, body: ColumnBody
) -> Envelope[ColumnMeaningShape]:
    """State what a column means, or more of it; `If-Match: "v0"` where nobody has yet."""
    key = await _column(asked.by, asked.datasource, table, column)
    given = body.model_dump(mode="json")
    return await asked.put(COLUMNS, key, "update_column", table=table, column=column, **given)


@router.delete("/columns/{table}/{column}", operation_id="columns.remove")
async def remove_column(asked: Changing, table: Named, column: Named) -> Envelope[GoneShape]:
    """Forget what a column means; what the database says of it stays."""
    key = await _column(asked.by, asked.datasource, table, column)
    return await asked.remove(COLUMNS, key, "delete_column_metadata", table=table, column=column)


@router.get("/relationships", operation_id="relationships.list")
async def list_relationships(
    by: ByProjectReviewer, datasource: DatasourceName, limit: Limit = 100, cursor: Cursor = None
) -> Envelope[Page[RelationshipShape]]:
    """Show how entities belong together."""
    known = await known_of(by, datasource)
    return RELATIONSHIPS.page(known, RELATIONSHIPS.every(known), cursor=cursor, limit=limit)


@router.get("/relationships/{from_entity}/{to_entity}", operation_id="relationships.get")
async def get_relationship(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    from_entity: Named,
    to_entity: Named,
    response: Response,
) -> Envelope[RelationshipShape]:
    """Show how one entity belongs to another."""
    key = relationship_key(from_entity, to_entity)
    return RELATIONSHIPS.answered(await known_of(by, datasource), key, response)


@router.put("/relationships/{from_entity}/{to_entity}", operation_id="relationships.put")
async def put_relationship(
    asked: Changing, from_entity: Named, to_entity: Named, body: RelationshipBody
) -> Envelope[RelationshipShape]:
    """State how one entity belongs to another; `If-Match: "v0"` where nobody has yet."""
    return await asked.put(
        RELATIONSHIPS,
        relationship_key(from_entity, to_entity),
        "update_relationship",
        from_entity=from_entity,
        to_entity=to_entity,
        **body.model_dump(mode="json"),
    )


@router.delete("/relationships/{from_entity}/{to_entity}", operation_id="relationships.remove")
async def remove_relationship(
    asked: Changing, from_entity: Named, to_entity: Named
) -> Envelope[GoneShape]:
    """Take a relationship away."""
    return await asked.remove(
        RELATIONSHIPS,
        relationship_key(from_entity, to_entity),
        "delete_relationship",
        from_entity=from_entity,
        to_entity=to_entity,
    )


@router.get("/glossary", operation_id="glossary.list")
async def list_terms(
    by: ByProjectReviewer, datasource: DatasourceName, limit: Limit = 100, cursor: Cursor = None
) -> Envelope[Page[TermShape]]:
    """Show the words of the business."""
    known = await known_of(by, datasource)
    return TERMS.page(known, TERMS.every(known), cursor=cursor, limit=limit)


@router.get("/glossary/{term:path}", operation_id="glossary.get")
async def get_term(
    by: ByProjectReviewer, datasource: DatasourceName, term: Named, response: Response
) -> Envelope[TermShape]:
    """Show one term."""
    return TERMS.answered(await known_of(by, datasource), folded(term), response)


@router.put("/glossary/{term:path}", operation_id="glossary.put")
async def put_term(asked: Changing, term: Named, body: TermBody) -> Envelope[TermShape]:
    """State a term, or more of one; its SQL is tried first. `If-Match: "v0"` for a new one."""
    return await asked.put(
        TERMS, folded(term), "update_glossary_term", term=term, **body.model_dump(mode="json")
    )


@router.delete("/glossary/{term:path}", operation_id="glossary.remove")
async def remove_term(asked: Changing, term: Named) -> Envelope[GoneShape]:
    """Take a term away."""
    return await asked.remove(TERMS, folded(term), "delete_glossary_term", term=term)


@router.get("/facts", operation_id="facts.list")
async def list_facts(
    by: ByProjectReviewer, datasource: DatasourceName, limit: Limit = 100, cursor: Cursor = None
) -> Envelope[Page[FactShape]]:
    """Show what one has to know of the data."""
    known = await known_of(by, datasource)
    return FACTS.page(known, FACTS.every(known), cursor=cursor, limit=limit)


@router.post("/facts", operation_id="facts.create", status_code=201)
async def create_fact(
    by: ByProjectReviewer,
    datasource: DatasourceName,
    body: FactBody,
    response: Response,
    reason: Reason = "",
) -> Envelope[FactShape]:
    """State a fact."""
    given = body.model_dump(mode="json")
    async with by.making(reason, datasource=datasource):
        made = await use_tool(by, "update_project_knowledge", datasource=datasource, **given)
    return FACTS.answered(await known_of(by, datasource), str(made["fact_id"]), response)


@router.get("/facts/{fact}", operation_id="facts.get")
async def get_fact(
    by: ByProjectReviewer, datasource: DatasourceName, fact: Named, response: Response
) -> Envelope[FactShape]:
    """Show one fact."""
    return FACTS.answered(await known_of(by, datasource), fact, response)


@router.put("/facts/{fact}", operation_id="facts.put")
async def put_fact(asked: Changing, fact: Named, body: FactBody) -> Envelope[FactShape]:
    """State a fact anew."""
    given = body.model_dump(mode="json")
    return await asked.put(FACTS, fact, "update_project_knowledge", fact_id=fact, **given)


@router.delete("/facts/{fact}", operation_id="facts.remove")
async def remove_fact(asked: Changing, fact: Named) -> Envelope[GoneShape]:
    """Take a fact away."""
    return await asked.remove(FACTS, fact, "delete_project_knowledge", fact_id=fact)


async def _column(by: Reviewer, datasource: str, table: str, column: str) -> str:
    """Return the key of what a column means.

    Raises:
        DataFailure: There is no such table, or no such column in it.
    """
    known = await known_of(by, datasource)
    meant = known.table(table)
    return column_key(meant.schema, meant.name, known.column(meant, column).name)
