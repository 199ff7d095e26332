"""What each of the 22 handed configuration files declares, read by a person.

One entry a server, only what is not a default; texts with references as `remit.yaml` has them.
"""

from collections.abc import Mapping
from typing import Any

Servers = Mapping[str, Mapping[str, Any]]

TICKETS = "https://tickets.example.test/mcp"
BEARER = {"Authorization": "Bearer ${TICKETS_TOKEN}"}

GOLDEN: Mapping[str, Servers] = {
    "01-claude-desktop-local.json": {
        "notes": {"command": "npx", "args": ("-y", "@acme/notes-mcp@latest")},
        "ledger-api": {
            "command": "python",
            "args": ("-m", "acme_ledger.mcp", "--stdio"),
            "cwd": "/srv/acme/ledger",
            "env": {
                "PYTHONPATH": "/srv/acme/ledger",
                "LEDGER_URL": "https://ledger.example.test",
                "LEDGER_KEY": "${LEDGER_KEY}",
            },
        },
    },
    "02-claude-desktop-windows.json": {
        "files": {
            "command": "cmd",
            "args": (
                *("/c", "npx", "-y", "@acme/files-mcp"),
                *(r"C:\Users\demo\My Documents", r"D:\data\new\table"),
            ),
            "env": {"APPDATA": "${APPDATA}", "FILES_TOKEN": "${FILES_TOKEN}"},
        },
        "Buro-Kalender": {"command": r"C:\Program Files\Acme\cal-mcp.exe"},
    },
    "03-claude-desktop-remote-bridge.json": {
        "acme-remote": {
            "transport": "http",
            "url": "https://mcp.example.test/mcp",
            "headers": {"Authorization": "${ACME_AUTH}"},
        }
    },
    "04-project.mcp.json": {
        "tickets": {
            "transport": "http",
            "url": "${TICKETS_URL:-https://tickets.example.test}/mcp",
            "headers": {**BEARER, "X-Team": "${TEAM:-core}"},
        },
        "legacy-feed": {
            "transport": "sse",
            "url": "https://feed.example.test/sse",
            "headers": {"X-Api-Key": "${FEED_KEY}"},
        },
        "sandbox": {
            "command": "docker",
            "args": (
                *("run", "-i", "--rm", "-e", "SANDBOX_TOKEN"),
                *("-v", "${TOOLS_DIR:-${HOME}/.acme-tools}:/tools:ro"),
                "registry.example.test/sandbox-mcp:1",
            ),
            "env": {"SANDBOX_TOKEN": "${SANDBOX_TOKEN}"},
        },
        "db_main_ro": {"command": "uvx", "args": ("acme-db-mcp", "--dsn", "${DB_DSN}")},
    },
    "05-vscode-mcp.jsonc": {
        "tickets": {
            "transport": "http",
            "url": f"{TICKETS}?region=${{REGION:-eu}}",
            "headers": BEARER,
        },
        "local-lint": {
            "command": "${WORKSPACE_FOLDER}/node_modules/.bin/lint-mcp",
            "args": ("--root", "${WORKSPACE_FOLDER}"),
        },
        "bare": {"transport": "http", "url": "http://localhost:3000/mcp"},
    },
    "06-vscode-servers-as-array.jsonc": {
        "files": {"command": "npx", "args": ("@acme/files-mcp", "/workspaces/demo")},
        "files-2": {"command": "npx", "args": ("@acme/files-mcp", "/workspaces/other")},
    },
    "07-cursor-mcp.json": {
        "tickets": {"transport": "http", "url": TICKETS, "headers": BEARER},
        "browser": {
            "command": "npx",
            "args": ("@acme/browser-mcp", "--headless"),
            "env": {"CACHE": "${HOME}/.cache/browser-mcp"},
        },
        "off-for-now": {"command": "uvx", "args": ("acme-metrics-mcp",), "enabled": False},
    },
    "08-windsurf-mcp_config.json": {
        "tickets": {"transport": "http", "url": TICKETS, "headers": BEARER}
    },
    "09-cline-roo-settings.json": {
        "github.com-acme-weather-mcp": {
            "transport": "http",
            "url": "http://localhost:8000/mcp",
            "timeout": 60,
        },
        "memory": {"command": "node", "args": ("/opt/memory/dist/index.js",)},
    },
    "10-gemini-settings.json": {
        "tickets": {"transport": "http", "url": TICKETS, "headers": BEARER, "timeout": 60},
        "old_feed": {"transport": "sse", "url": "https://feed.example.test/sse"},
    },
    "11-codex-config.toml": {
        "tickets": {"transport": "http", "url": TICKETS, "bearer_token_env_var": "TICKETS_TOKEN"},
        "db.main": {
            "command": "uvx",
            "args": ("acme-db-mcp",),
            "start_timeout": 20,
            "timeout": 120,
            "env": {"DB_DSN": "postgresql://demo@localhost/demo"},
        },
    },
    "12-opencode.json": {
        "notes": {
            "command": "npx",
            "args": ("-y", "@acme/notes-mcp"),
            "env": {"NOTES_KEY": "${NOTES_KEY}"},
        },
        "tickets": {"transport": "http", "url": TICKETS, "headers": BEARER, "enabled": False},
    },
    "13-mcpo-config.json": {
        "time": {"command": "uvx", "args": ("mcp-server-time", "--local-timezone=UTC")},
        "feed": {
            "transport": "sse",
            "url": "http://feed:8001/sse",
            "headers": {"Authorization": "Bearer ${FEED_TOKEN}"},
        },
        "tickets": {"transport": "http", "url": "http://tickets:8002/mcp"},
    },
    "14-agentgateway-multiplex.yaml": {
        "tickets": {"transport": "http", "url": TICKETS},
        "feed": {"transport": "sse", "url": "https://feed.example.test/sse"},
        "files": {"command": "npx", "args": ("-y", "@acme/files-mcp", "/data")},
    },
    "15-agentgateway-short-apikey.yaml": {
        "tickets": {"transport": "http", "url": "http://localhost:3001/mcp"}
    },
    "16-metamcp-bulk-import.json": {
        "Notes": {"command": "uvx", "args": ("acme-notes-mcp",), "env": {"KEY": "${NOTES_KEY}"}},
        "Feed": {
            "transport": "sse",
            "url": "https://feed.example.test/sse",
            "headers": {"Authorization": "Bearer ${FEED_TOKEN}"},
        },
        "Tickets": {"transport": "http", "url": TICKETS},
        "Loop": {"transport": "http", "url": "http://localhost:12008/metamcp/all/mcp"},
    },
    "17-contextforge-export.json": {
        "Acme_Tickets": {
            "transport": "http",
            "url": "https://tickets.example.test/mcp/",
            "headers": {"Authorization": "Bearer ${ACME_TICKETS_TOKEN}"},
        }
    },
    "18-litellm-config.yaml": {
        "acme_tickets": {"transport": "http", "url": TICKETS, "headers": BEARER},
        "notes": {
            "command": "uvx",
            "args": ("acme-notes-mcp",),
            "env": {"NOTES_KEY": "${NOTES_KEY}"},
        },
    },
    "20-docker-catalog.yaml": {
        "feed": {
            "transport": "sse",
            "url": "https://feed.example.test/sse",
            "description": "Remote feed",
        },
        "tickets": {
            "command": "docker",
            "args": (
                *("run", "-i", "--rm", "-e", "TICKETS_KEY", "-e", "TICKETS_URL"),
                f"registry.example.test/tickets-mcp@sha256:{'0' * 64}",
            ),
            "env": {"TICKETS_KEY": "${TICKETS_KEY}", "TICKETS_URL": "${TICKETS_URL}"},
            "description": "Ticket system",
        },
    },
    "21-nested-transport.json": {
        "core": {
            "transport": "http",
            "url": "http://localhost:8002",
            "headers": {"x-mcp-token": "${MCP_TOKEN}", "x-mcp-user-id": "${MCP_USER_ID}"},
        },
        "fleet": {"transport": "http", "url": "https://fleet.example.test/mcp/"},
        "fleet2": {"transport": "http", "url": "https://fleet.example.test/mcp"},
    },
    "22-client-of-the-gateway.json": {
        "gw": {
            "transport": "http",
            "url": "https://gw.example.test/mcp",
            "headers": {"Authorization": "Bearer ${GW_KEY}"},
        },
        "gw-stdio": {
            "transport": "http",
            "url": "https://gw.example.test/mcp",
            "headers": {"Authorization": "Bearer ${GW_KEY}"},
        },
        "gw-docker": {"command": "docker", "args": ("mcp", "gateway", "run")},
    },
}

DEFINES_NONE = "19-mcpjungle-group.json"

NOTES: Mapping[str, frozenset[tuple[str, str]]] = {
    "01-claude-desktop-local.json": frozenset(
        {("secret-in-clear", "env.LEDGER_KEY"), ("section-left-out", "")}
    ),
    "02-claude-desktop-windows.json": frozenset({("read-as", "env.APPDATA"), ("renamed", "")}),
    "03-claude-desktop-remote-bridge.json": frozenset(
        {("read-as", "command"), ("secret-in-clear", "env.ACME_AUTH")}
    ),
    "04-project.mcp.json": frozenset({("renamed", "")}),
    "05-vscode-mcp.jsonc": frozenset(
        {
            ("read-as", "url"),
            ("needs-variable", "headers.Authorization"),
            ("needs-variable", "command"),
            ("needs-variable", "args[1]"),
            ("key-left-out", "envFile"),
            ("key-left-out", "dev"),
        }
    ),
    "06-vscode-servers-as-array.jsonc": frozenset({("renamed", "")}),
    "07-cursor-mcp.json": frozenset(
        {("read-as", "headers.Authorization"), ("read-as", "command"), ("read-as", "env.CACHE")}
    ),
    "08-windsurf-mcp_config.json": frozenset(
        {("secret-in-clear", "headers.Authorization"), ("tool-denied", "")}
    ),
    "09-cline-roo-settings.json": frozenset(
        {("renamed", ""), ("key-left-out", "autoApprove"), ("key-left-out", "alwaysAllow")}
    ),
    "10-gemini-settings.json": frozenset(
        {
            ("section-left-out", ""),
            ("read-as", "headers.Authorization"),
            ("read-as", "timeout"),
            ("tool-denied", ""),
            ("key-left-out", "trust"),
        }
    ),
    "11-codex-config.toml": frozenset({("section-left-out", "")}),
    "12-opencode.json": frozenset(
        {("read-as", "env.NOTES_KEY"), ("read-as", "headers.Authorization")}
    ),
    "13-mcpo-config.json": frozenset(
        {
            ("secret-in-clear", "headers.Authorization"),
            ("tool-denied", ""),
            ("key-left-out", "client_header_forwarding"),
        }
    ),
    "14-agentgateway-multiplex.yaml": frozenset({("section-left-out", "")}),
    "15-agentgateway-short-apikey.yaml": frozenset({("section-left-out", "")}),
    "16-metamcp-bulk-import.json": frozenset({("secret-in-clear", "headers.Authorization")}),
    "17-contextforge-export.json": frozenset(
        {
            ("needs-variable", "headers.Authorization"),
            ("key-left-out", "capabilities"),
            ("key-left-out", "health_check"),
            ("key-left-out", "tags"),
            ("key-left-out", "passthrough_headers"),
            ("section-left-out", ""),
        }
    ),
    "18-litellm-config.yaml": frozenset(
        {
            ("section-left-out", ""),
            ("read-as", "headers.Authorization"),
            ("read-as", "env.NOTES_KEY"),
            ("tool-denied", ""),
            ("key-left-out", "extra_headers"),
            ("key-left-out", "access_groups"),
        }
    ),
    "20-docker-catalog.yaml": frozenset(
        {("read-as", "image"), ("needs-variable", "env.TICKETS_URL")}
    ),
    "21-nested-transport.json": frozenset({("same-address", "url"), ("server-left-out", "")}),
    "22-client-of-the-gateway.json": frozenset({("read-as", "command"), ("same-address", "url")}),
}
"""What is said of each file beside `unknown-tools`: code and field."""
