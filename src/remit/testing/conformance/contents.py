"""What the conformance fixture answers with: the smallest texts, sounds and images there are."""

import base64
import struct
import zlib
from typing import Any, Final

import mcp_types as t


def _pixel() -> bytes:
    """Return a red pixel as PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    row = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", row) + chunk(b"IEND", b"")


def _silence() -> bytes:
    """Return eight samples of silence as WAV."""
    samples = b"\x00" * 16
    form = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


PNG: Final = base64.b64encode(_pixel()).decode()
WAV: Final = base64.b64encode(_silence()).decode()

NO_ARGUMENTS: Final[dict[str, Any]] = {"type": "object", "properties": {}}

SCHEMA_2020_12: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "address",
            "type": "object",
            "properties": {"street": {"type": "string"}, "town": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "home": {"$ref": "#/$defs/address"},
        "reach": {"enum": ["phone", "mail"]},
        "phone": {"type": "string"},
        "mail": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["mail"]}]}],
    "if": {"properties": {"reach": {"const": "phone"}}, "required": ["reach"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["mail"]},
    "additionalProperties": False,
}
"""Keywords of JSON Schema that a relay may not lose."""

ALL_DEFAULTS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    },
}
"""A form with a default of every primitive type."""

ALL_ENUMS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {
            "type": "string",
            "oneOf": [
                {"const": f"value{number}", "title": f"{word} Option"}
                for number, word in enumerate(("First", "Second", "Third"), start=1)
            ],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
        },
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"const": f"value{number}", "title": f"{word} Choice"}
                    for number, word in enumerate(("First", "Second", "Third"), start=1)
                ]
            },
        },
    },
}
"""A form with every way to write a choice."""


def text(words: str) -> t.TextContent:
    """Return a block of text."""
    return t.TextContent(type="text", text=words)


def image() -> t.ImageContent:
    """Return the pixel."""
    return t.ImageContent(type="image", data=PNG, mime_type="image/png")


def audio() -> t.AudioContent:
    """Return the silence."""
    return t.AudioContent(type="audio", data=WAV, mime_type="audio/wav")


def embedded(uri: str, mime_type: str, words: str) -> t.EmbeddedResource:
    """Return a resource inside a result."""
    contents = t.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return t.EmbeddedResource(type="resource", resource=contents)


def form(message: str, **properties: dict[str, Any]) -> t.ElicitRequest:
    """Return a question to the user that needs all *properties*."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }
    return asked(message, schema)


def asked(message: str, schema: dict[str, Any]) -> t.ElicitRequest:
    """Return a question to the user with a form of its own."""
    params = t.ElicitRequestFormParams(message=message, requested_schema=schema)
    return t.ElicitRequest(params=params)


def sampled(prompt: str, *, most: int = 100) -> t.CreateMessageRequest:
    """Return a question to the caller's model."""
    message = t.SamplingMessage(role="user", content=text(prompt))
    return t.CreateMessageRequest(
        params=t.CreateMessageRequestParams(messages=[message], max_tokens=most)
    )
