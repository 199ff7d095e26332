"""The page "Ontology" of a gateway that has no datasource says what to do next."""

import json
from pathlib import Path

from tests.console.visits import sign_in

from remit.doors.console.ontology_tabs import TABS
from remit.testing.gateway import start_gateway


def test_without_a_datasource_every_tab_says_how_to_add_one(tmp_path: Path) -> None:
    config = tmp_path / "remit.yaml"
    config.write_text(json.dumps({"version": "1.0", "mcp_servers": {"data": {"builtin": "data"}}}))
    running = start_gateway(tmp_path, config, {})
    try:
        with sign_in(running.base, running.admin_key) as visit:
            pages = [visit.page("/ontology", tab=key) for key, _ in TABS]
    finally:
        running.stop()

    assert all("remit datasources add" in page for page in pages)
