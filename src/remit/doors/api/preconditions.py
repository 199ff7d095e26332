"""`ETag` and `If-Match`: nobody overwrites what they have not seen (RFC 9110, 13)."""

import hashlib
import json
import re
from typing import Annotated, Any, Final

from fastapi import Header
from pydantic import BaseModel

from remit.admin.edits import Document, Edit
from remit.doors.asgi import HttpRefusal


def _if_match(description: str) -> Any:
    return Header(
        alias="If-Match",
        max_length=1024,
        json_schema_extra={"pattern": r'^(\*|(W/)?"[!#-~]*"(, *(W/)?"[!#-~]*")*)$'},
        description=description,
    )


IfMatch = Annotated[
    str | None,
    _if_match("The `ETag` of what was read, or `*` for whatever there is. Without it: 428."),
]
IfSeen = Annotated[
    str | None,
    _if_match("The `ETag` of what was read. Without it, or as `*`: whatever there is."),
]

_TAGS: Final = re.compile(r'\s*(?:(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"\s*(?:,\s*|$))+')
_ONE: Final = re.compile(r'(W/)?"([^"]*)"')


def revision_tag(revision: int) -> str:
    """Return the tag of everything that the declaration says: the number of the revision."""
    return f'"r{revision}"'


def version_tag(version: int) -> str:
    """Return the tag of what has a version of its own; that of what is not there yet is `"v0"`."""
    return f'"v{version}"'


def tag_of(shown: BaseModel) -> str:
    """Return the tag of something that has no revision: what it says, in short."""
    return _tag(shown.model_dump_json())


def section_tag(document: Document, section: str) -> str:
    """Return the tag of one section of a declaration, whatever the others say."""
    return _tag(json.dumps(document.get(section), sort_keys=True))


def _tag(text: str) -> str:
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def of_seen(edit: Edit, section: str, if_match: str | None) -> Edit:
    """Return an edit that is made only while a section says what the caller has seen.

    Clients of the source send no tag (S2.48): then it is made whatever the section says.

    Raises:
        HttpRefusal: By the edit, when the section says something else (412).
    """

    def of_the_same(document: Document) -> Document:
        if if_match is not None:
            require_match(if_match, section_tag(document, section))
        return edit(document)

    return of_the_same


def require_tag(if_match: str | None) -> str:
    """Return the tags that the caller has seen.

    Raises:
        HttpRefusal: It sent none (428).
    """
    if if_match is None:
        raise HttpRefusal(
            428, "read what is to be changed first, and send its ETag as If-Match (or `*`)"
        )
    return if_match


def require_match(if_match: str, tag: str) -> None:
    """Let a change pass that was made with the present state in view.

    Raises:
        HttpRefusal: 412 when the tag is another one's, 400 when it is none.
    """
    if if_match.strip() == "*":
        return
    if not _TAGS.fullmatch(if_match):
        raise HttpRefusal(400, 'If-Match holds tags in quotes, such as "r12", or `*`')
    strong = {f'"{tag}"' for weak, tag in _ONE.findall(if_match) if not weak}
    if tag not in strong:
        raise HttpRefusal(412, f"somebody changed it meanwhile: its ETag is {tag} now")
