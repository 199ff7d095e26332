"""The shape of `remit.yaml`: every key of the contract in product.md, and no other.

Pydantic models check each part of a document at the boundary; `declaration.py` turns them into the
frozen values of `remit.model`. Keys have been brought to the contract's spelling before
(`spelling.py`). Types are strict: `timeout: true` is no second, `args: text` is no list.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from remit.model.retention import LONGEST_RETENTION
from remit.model.servers import LONGEST_TIMEOUT

ANY = "*"
"""Stands for any key or index in a place."""

Place = tuple[str, ...]
"""Where a mapping stands in the document, such as `("roles", ANY)`."""

SMALLEST_MESSAGE = 1024
"""Bytes below which no MCP server could be spoken to."""

LONGEST_LEEWAY = 300.0
"""Seconds of clock difference beyond which an end time means little."""

MOST_OF_ANYTHING = 2**31 - 1
"""What every store can count to; whoever wants no bound leaves the key out."""

LARGEST_SIZE = 1024**4
"""Bytes beyond which nothing fits into a message, nor into a row."""

_SIZE = re.compile(r"([0-9]+)\s*([kmg]i?b|b)?", re.IGNORECASE)
_LONG = re.compile(r"-?[1-9][0-9]{18,}")
_MOST_DIGITS = 30
"""Digits of a number that are read: it is too large by then, whatever follows."""

_UNITS = {"b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3}
_BINARY_UNITS = {"kib": 1024, "mib": 1024**2, "gib": 1024**3}
_FLAGS = {"yes": True, "no": False, "on": True, "off": False, "true": True, "false": False}


def _read_text(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, bool | float):
        raise PydanticCustomError("wrong-type", "must be a text: put it in quotes")
    if isinstance(value, str) and "\0" in value:
        raise PydanticCustomError("bad-value", "holds a NUL character")
    return value


def _read_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _read_word(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _read_flag(value: object) -> object:
    return _FLAGS.get(value.strip().lower(), value) if isinstance(value, str) else value


def _read_size(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise PydanticCustomError("bad-value", "must be a number of bytes, or a text like '16KiB'")
    unit = (match[2] or "b").lower()
    number = int(match[1].lstrip("0")[:_MOST_DIGITS] or "0")
    return number * {**_UNITS, **_BINARY_UNITS}[unit]


def _read_number(value: object) -> object:
    # YAML's reader leaves a number of more than 18 digits a text
    if isinstance(value, str) and _LONG.fullmatch(value):
        return int(value[:_MOST_DIGITS])
    return value


def _read_version(value: object) -> object:
    # Without quotes YAML and JSON read a number.
    if isinstance(value, bool):
        return value
    return "1.0" if value in ("1", 1) else value


Text = Annotated[str, BeforeValidator(_read_text)]
Flag = Annotated[bool, BeforeValidator(_read_flag)]
Whole = Annotated[int, BeforeValidator(_read_number)]
Number = Annotated[float, BeforeValidator(_read_number), Field(allow_inf_nan=False)]
Count = Annotated[Whole, Field(ge=1, le=MOST_OF_ANYTHING)]
Days = Annotated[Whole, Field(ge=1, le=LONGEST_RETENTION)]
Seconds = Annotated[Number, Field(gt=0, le=LONGEST_TIMEOUT)]
Size = Annotated[int, BeforeValidator(_read_size), Field(ge=0, le=LARGEST_SIZE)]
MessageSize = Annotated[Size, Field(ge=SMALLEST_MESSAGE)]


class Shape(BaseModel):
    """A mapping whose keys are all known."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ToolShape(Shape):
    """`mcp_servers.*.tools.*`: what is said of one tool of a server."""

    retry: Annotated[Literal["never", "safe"], BeforeValidator(_read_word)] = "safe"
    timeout: Seconds = LONGEST_TIMEOUT
    critical: Flag = False


class ServerShape(Shape):
    """`mcp_servers.*`: a server. Only what was written counts; defaults are the model's."""

    transport: Annotated[
        Literal["stdio", "http", "sse", "builtin"] | None, BeforeValidator(_read_word)
    ] = None
    command: Text = ""
    args: list[Text] = []
    env: dict[str, Text] = {}
    env_passthrough: list[Text] = []
    env_inherit: Annotated[Literal["minimal", "all"], BeforeValidator(_read_word)] = "minimal"
    cwd: Text = ""
    url: Text = ""
    headers: dict[str, Text] = {}
    headers_from_env: dict[str, Text] = {}
    bearer_token_env_var: Text = ""
    builtin: Text = ""
    description: Text = ""
    enabled: Flag = True
    default_access: Annotated[Literal["allow", "deny"], BeforeValidator(_read_word)] = "allow"
    session: Annotated[Literal["shared", "principal"] | None, BeforeValidator(_read_word)] = None
    timeout: Seconds = 1
    start_timeout: Seconds = 1
    max_concurrency: Count = 1
    max_message: MessageSize = SMALLEST_MESSAGE
    max_children: Count = 1
    names: Text = ""
    tool_names: dict[str, Text] = {}
    tool_args: dict[str, dict[str, Text]] = {}
    tools: dict[str, ToolShape] = {}
    allow_unclaimed: Flag = False


class RoleShape(Shape):
    """`roles.*`: a role."""

    mcp_servers: list[Text] = []
    tools: dict[str, list[Text]] = {}
    allow: list[Text] = []
    deny: list[Text] = []
    denials: Annotated[Literal["quiet", "explain"], BeforeValidator(_read_word)] = "quiet"
    description: Text = ""


class AuditShape(Shape):
    """`audit`: how the record is kept."""

    retention_days: Days = 1
    retention_rows: Count = 1
    body_cap: Size = 0
    durability: Annotated[Literal["process", "disk"], BeforeValidator(_read_word)] = "process"


class HttpShape(Shape):
    """`server`: how the gateway is seen from outside."""

    public_url: Text = ""
    trusted_proxies: list[Text] = []
    allowed_origins: list[Text] = []


class AgentTypeShape(Shape):
    """`agent_types.*`."""

    allow: list[Text] = []
    deny: list[Text] = []


class GrantShape(Shape):
    """`grants[]`; which keys belong together is checked in `grant_rules.py`."""

    subject: Text = ""
    user: Text = ""
    group: Text = ""
    agent: Text = ""
    key: Text = ""
    role: Text = ""
    everyone: Flag = False
    effect: Annotated[Literal["allow", "deny"] | None, BeforeValidator(_read_word)] = None
    server: Text = ""
    tool: Text = ""
    until: Text = ""
    enabled: Flag = True


class ToolGroupShape(Shape):
    """What every group of `toolsets` may say; both are accepted and ignored (R19, S2.15)."""

    enabled: object = None
    custom_tools: object = Field(default=None, alias="customTools")


class UserToolsetShape(ToolGroupShape):
    """`toolsets.user`."""

    allow_ontology_maintenance: Flag = Field(default=True, alias="allowOntologyMaintenance")


class DeveloperToolsetShape(ToolGroupShape):
    """`toolsets.developer`."""

    add_query_tools: Flag = Field(default=True, alias="addQueryTools")
    add_ontology_maintenance: Flag = Field(default=True, alias="addOntologyMaintenance")


class AgentToolsetShape(ToolGroupShape):
    """`toolsets.agent_tools`."""


class ToolsetsShape(Shape):
    """`toolsets`."""

    user: UserToolsetShape = UserToolsetShape()
    developer: DeveloperToolsetShape = DeveloperToolsetShape()
    agent_tools: AgentToolsetShape = AgentToolsetShape()


class ClaimsShape(Shape):
    """`identity.jwt[].claims`."""

    roles: Text = ""
    user_roles: Text = ""
    groups: Text = ""
    tenant: Text = ""


class JwtShape(Shape):
    """`identity.jwt[]`: an issuer of tokens."""

    issuer: Text = ""
    audience: Annotated[list[Text], BeforeValidator(_read_list)] = []
    scopes: Annotated[list[Text], BeforeValidator(_read_list)] = []
    jwks_url: Text = ""
    jwks_file: Text = ""
    secret_env: Text = ""
    algorithms: list[Text] = []
    leeway: Annotated[Number, Field(ge=0, le=LONGEST_LEEWAY)] = 0
    default_user_role: Text = ""
    allow_private_url: Flag = False
    claims: ClaimsShape = ClaimsShape()


class OidcClaimsShape(Shape):
    """`identity.oidc.claims`."""

    roles: Text = ""
    tenant: Text = ""
    name: Text = ""


class OidcShape(Shape):
    """`identity.oidc`: the OpenID provider that people sign in at; checked in `oidc_rules.py`."""

    issuer: Text = ""
    client_id: Text = ""
    client_secret_env: Text = ""
    scopes: Annotated[list[Text], BeforeValidator(_read_list)] = []
    allow_private_url: Flag = False
    claims: OidcClaimsShape = OidcClaimsShape()
    administrators: Annotated[list[Text], BeforeValidator(_read_list)] = []
    auditors: Annotated[list[Text], BeforeValidator(_read_list)] = []
    reviewers: Annotated[list[Text], BeforeValidator(_read_list)] = []
    users: Annotated[list[Text], BeforeValidator(_read_list)] = []


class IdentityShape(Shape):
    """`identity`."""

    jwt: list[object] = []
    oidc: dict[str, object] = {}


class LimitShape(Shape):
    """`limits[]`; what `per` may be is checked in `limit_rules.py`."""

    role: Text = ""
    principal: Text = ""
    tool: Text = ""
    calls: Count = 1
    per: object = None
    per_caller: Flag = True


class PolicyShape(Shape):
    """`policy`."""

    admin_bypass: Flag = False


class DataShape(Shape):
    """`data`: how the `data` server treats what callers send."""

    screening: Annotated[Literal["refuse", "alert"], BeforeValidator(_read_word)] = "refuse"


MOST_COUNTED = 10_000
"""What an alert may count to: that many statements of a caller are looked at, at most."""

_TIME_OF_DAY = r"([01]\d|2[0-3]):[0-5]\d"

Threshold = Annotated[Whole, Field(ge=1, le=MOST_COUNTED)]


def _read_time(value: object) -> object:
    value = _read_text(value)
    if isinstance(value, str) and not re.fullmatch(_TIME_OF_DAY, value):
        raise PydanticCustomError("bad-value", "must be a time of day such as '06:00'")
    return value


TimeOfDay = Annotated[str, BeforeValidator(_read_time), Field(pattern=f"^{_TIME_OF_DAY}$")]


class AlertShape(Shape):
    """`alerts.*`: when alerts of one type are raised. Defaults are the model's."""

    enabled: Flag = True
    severity: Annotated[Literal["info", "warning", "critical"], BeforeValidator(_read_word)] = (
        "warning"
    )


class VolumeAlertShape(AlertShape):
    """`alerts.unusual_query_volume`."""

    multiplier: Annotated[Number, Field(gt=0, le=MOST_COUNTED)] = 1
    usual_per_hour: Threshold = 1


class ExportAlertShape(AlertShape):
    """`alerts.large_data_export`."""

    rows: Annotated[Whole, Field(ge=1, le=1000)] = 1
    rows_per_hour: Count = 1


class HoursAlertShape(AlertShape):
    """`alerts.after_hours_access`; times are UTC."""

    begins: TimeOfDay = Field(default="00:00", alias="from")
    ends: TimeOfDay = Field(default="00:00", alias="until")


class NewUserAlertShape(AlertShape):
    """`alerts.new_user_high_volume`."""

    queries: Threshold = 1
    hours: Annotated[Whole, Field(ge=1, le=24 * 31)] = 1


class ErrorsAlertShape(AlertShape):
    """`alerts.repeated_errors`."""

    errors: Annotated[Whole, Field(ge=2, le=1000)] = 2
    minutes: Annotated[Whole, Field(ge=1, le=24 * 60)] = 1


class AlertsShape(Shape):
    """`alerts`: when alerts are raised, by type (S2.48)."""

    sql_injection_detected: AlertShape = AlertShape()
    unusual_query_volume: VolumeAlertShape = VolumeAlertShape()
    sensitive_table_access: AlertShape = AlertShape()
    large_data_export: ExportAlertShape = ExportAlertShape()
    after_hours_access: HoursAlertShape = HoursAlertShape()
    new_user_high_volume: NewUserAlertShape = NewUserAlertShape()
    repeated_errors: ErrorsAlertShape = ErrorsAlertShape()


def _read_collection(value: object) -> object:
    if isinstance(value, str | int | float):
        raise PydanticCustomError("wrong-type", "must be a mapping or a list")
    return value


Collection = Annotated[object, BeforeValidator(_read_collection)]


class DocumentShape(Shape):
    """The whole document. Named things are checked one by one, so that each is reported."""

    version: Annotated[Literal["1.0"], BeforeValidator(_read_version)] = "1.0"
    mcp_servers: dict[str, object] = {}
    roles: dict[str, object] = {}
    agent_types: dict[str, object] = {}
    toolsets: ToolsetsShape = ToolsetsShape()
    identity: IdentityShape = IdentityShape()
    limits: list[object] = []
    audit: AuditShape = AuditShape()
    policy: PolicyShape = PolicyShape()
    tenants: Collection = {}
    grants: list[object] = []
    groups: dict[str, list[Text]] = {}
    data: DataShape = DataShape()
    alerts: AlertsShape = AlertsShape()
    server: HttpShape = HttpShape()


PLACES: Mapping[Place, type[Shape]] = {
    (): DocumentShape,
    ("mcp_servers", ANY): ServerShape,
    ("mcp_servers", ANY, "tools", ANY): ToolShape,
    ("roles", ANY): RoleShape,
    ("agent_types", ANY): AgentTypeShape,
    ("grants", ANY): GrantShape,
    ("toolsets",): ToolsetsShape,
    ("toolsets", "user"): UserToolsetShape,
    ("toolsets", "developer"): DeveloperToolsetShape,
    ("toolsets", "agent_tools"): AgentToolsetShape,
    ("identity",): IdentityShape,
    ("identity", "jwt", ANY): JwtShape,
    ("identity", "jwt", ANY, "claims"): ClaimsShape,
    ("identity", "oidc"): OidcShape,
    ("identity", "oidc", "claims"): OidcClaimsShape,
    ("limits", ANY): LimitShape,
    ("audit",): AuditShape,
    ("policy",): PolicyShape,
    ("server",): HttpShape,
    ("data",): DataShape,
    ("alerts",): AlertsShape,
    ("alerts", "sql_injection_detected"): AlertShape,
    ("alerts", "unusual_query_volume"): VolumeAlertShape,
    ("alerts", "sensitive_table_access"): AlertShape,
    ("alerts", "large_data_export"): ExportAlertShape,
    ("alerts", "after_hours_access"): HoursAlertShape,
    ("alerts", "new_user_high_volume"): NewUserAlertShape,
    ("alerts", "repeated_errors"): ErrorsAlertShape,
}
"""Every mapping with known keys, by where it stands."""


def known_keys(place: Place) -> tuple[str, ...]:
    """Return the keys that the mapping at *place* may have; empty where any will do."""
    for pattern, shape in PLACES.items():
        if len(pattern) == len(place) and all(
            wanted in (ANY, given) for wanted, given in zip(pattern, place, strict=True)
        ):
            fields = shape.model_fields.items()
            return tuple(info.alias or name for name, info in fields)
    return ()
