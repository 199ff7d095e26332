r"""Whether every client can compile the schema of a tool's results.

Clients compile the schemas of a whole list, mostly with Ajv, and those of the TypeScript library 1
refuse all of it for one schema that Ajv refuses. It is stricter than the standard in some places:
regular expressions are those of ECMAScript in its Unicode mode (no `(?i)`, no `\-` outside
brackets), and some words of older drafts and of OpenAPI stop it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import jsonschema_rs

from remit.model.members import members_of
from remit.model.subschemas import schemas_in

_DIALECT: Final = re.compile(
    r"https?://json-schema\.org/(?:draft/20(?:20-12|19-09)|draft-0[67])/schema#?"
)
_METASCHEMA: Final = re.compile(r"https?://json-schema\.org/")

_ESCAPE: Final = (
    r"\\(?:[dDwWsSbBfnrtv0^$\\.*+?()\[\]{}|/1-9]|c[A-Za-z]|x[\da-fA-F]{2}|u[\da-fA-F]{4}"
    r"|u\{[\da-fA-F]+\}|[pP]\{(?:\w+=\w+|[LMNPSZC][a-z]?)\})"
)
_ATOM: Final = rf"(?:{_ESCAPE}|\[(?:{_ESCAPE}|\\-|[^\\\]])*\]|[^\\()\[\]{{}}*+?|])"
_TIMES: Final = r"(?:(?:[*+?]|\{\d+(?:,\d*)?\})\??)?"
_OPENING: Final = r"\((?:\?(?:[:=!]|<[=!]|<[A-Za-z_]\w*>))?"
_ECMASCRIPT: Final = re.compile(
    rf"(?:{_OPENING}|\||(?:{_ATOM}|\)){_TIMES})*+", re.ASCII | re.DOTALL
)


def is_compilable(schema: dict[str, Any]) -> bool:
    """Whether it means something, and nothing in it stops a client that compiles it."""
    try:
        jsonschema_rs.validator_for(schema, offline=True)
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError):
        return False
    if "$schema" in schema and not _DIALECT.fullmatch(schema["$schema"]):
        return False
    return not any(_stops(node) for _, node in schemas_in(schema))


def _stops(node: Mapping[str, Any]) -> bool:
    return (
        "id" in node  # of Draft 4
        or ("nullable" in node and "type" not in node)  # of OpenAPI
        or node.get("enum") == []
        or _METASCHEMA.match(str(node.get("$ref", ""))) is not None
        or not all(
            _ECMASCRIPT.fullmatch(str(one))
            for one in (node.get("pattern", ""), *members_of(node.get("patternProperties")))
        )
    )
