"""What the Model Context Protocol fixes, as plain values: versions, codes, names.

The protocol library has the same, but importing it builds every model of every version of the
protocol: 50 MB and half a second for some thirty constants. Names and values are the library's;
`tests/protocol` compares them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

HANDSHAKE_PROTOCOL_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions that begin with `initialize`, oldest first."""

MODERN_PROTOCOL_VERSIONS: Final = ("2026-07-28",)
"""Versions whose every request carries its own envelope, oldest first."""

LATEST_HANDSHAKE_VERSION: Final = HANDSHAKE_PROTOCOL_VERSIONS[-1]
LATEST_MODERN_VERSION: Final = MODERN_PROTOCOL_VERSIONS[-1]

DEFAULT_NEGOTIATED_VERSION: Final = "2025-03-26"
"""What a client without the header speaks: the first version that was served over HTTP."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_REQUIRED_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022
URL_ELICITATION_REQUIRED: Final = -32042

ERROR_CODE_HTTP_STATUS: Final[Mapping[int, int]] = MappingProxyType(
    {
        PARSE_ERROR: 400,
        INVALID_REQUEST: 400,
        INVALID_PARAMS: 400,
        HEADER_MISMATCH: 400,
        MISSING_REQUIRED_CLIENT_CAPABILITY: 400,
        UNSUPPORTED_PROTOCOL_VERSION: 400,
        METHOD_NOT_FOUND: 404,
    }
)
"""The HTTP status of an error in the modern era; codes that are not here have none."""

MCP_PROTOCOL_VERSION_HEADER: Final = "mcp-protocol-version"
MCP_METHOD_HEADER: Final = "mcp-method"
MCP_NAME_HEADER: Final = "mcp-name"

MCP_PARAM_HEADER_PREFIX: Final = "Mcp-Param-"
X_MCP_HEADER_KEY: Final = "x-mcp-header"
"""What a property of an input schema carries when its argument is mirrored in a header."""

NAME_BEARING_METHODS: Final[Mapping[str, str]] = MappingProxyType(
    {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
)
"""Method to the parameter that `Mcp-Name` mirrors."""

INPUT_REQUIRED_METHODS: Final = frozenset(NAME_BEARING_METHODS)
"""Methods that may be answered by a question to the client."""

PROTOCOL_VERSION_META_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_META_KEY: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_META_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_META_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_META_KEY: Final = "io.modelcontextprotocol/serverInfo"
