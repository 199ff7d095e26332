"""Requests made from the OpenAPI document, right and wrong ones, find no answer beside it."""

import os
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig
from tests.api.worlds import Api

from remit.doors.api.application import build_routes

pytestmark = [
    pytest.mark.timeout(3000 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 600),
    # Seen once in 17,000 requests: the gateway in this process draws the jitter of a pause while
    # hypothesis watches the same generator.
    pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies"),
]

EXAMPLES = 300 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 5

SEMANTIC = ["412", "422"]
"""A schema cannot say which tag is the present one, or which names and patterns are declared."""

CONFIG = SchemathesisConfig()
_CHECKS = CONFIG.projects.default.checks
_ACCEPTANCE, _REJECTION = _CHECKS.positive_data_acceptance, _CHECKS.negative_data_rejection
_ACCEPTANCE.expected_statuses = [*_ACCEPTANCE.expected_statuses, *SEMANTIC]
# who changes what is no longer so, or a tenant that is none, is told that before anything else
# so is whoever sends more than a request may be, as a text beyond its longest can be
_REJECTION.expected_statuses = [*_REJECTION.expected_statuses, "412", "413"]
_HEADERS = _CHECKS.missing_required_header
_HEADERS.expected_statuses = [*_HEADERS.expected_statuses, "404"]

schema: Any = schemathesis.openapi.from_dict(build_routes().openapi(), config=CONFIG)


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_nothing_that_is_sent_finds_an_answer_outside_the_document(case: Any, api: Api) -> None:
    case.headers.pop("X-API-Key", None)  # a request has one credential
    key = api.credentials["administrator"]

    case.call_and_validate(base_url=api.base, headers={"Authorization": f"Bearer {key}"})
