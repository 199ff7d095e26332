"""Questions about data, as something that looked at it would put them."""

from datetime import UTC, datetime
from uuid import uuid4

from remit.data.desk import OntologyStore
from remit.data.ontology.questions import Question
from remit.model.ontology import Item, ItemKind, Provenance, QuestionCategory, Source
from remit.model.principals import DEFAULT_TENANT


async def put_question(ontology: OntologyStore, datasource: str, text: str) -> str:
    """Put a question about a datasource of the default tenant, by its id; return its own."""
    now = datetime.now(UTC)
    question = Question(id=str(uuid4()), text=text, category=QuestionCategory.TERMINOLOGY)
    by = Provenance(
        created_source=Source.INFERRED,
        created_by="remit",
        created=now,
        edited_source=Source.INFERRED,
        edited_by="remit",
        edited=now,
    )
    item = Item(
        tenant=DEFAULT_TENANT,
        datasource=datasource,
        kind=ItemKind.QUESTION,
        key=question.key,
        body=question.to_body(),
        provenance=by,
    )
    await ontology.write(items=[item])
    return question.id
