"""What git and the hooks that it runs may know of the environment."""

from collections.abc import Mapping

# Hooks are the repository's code, so they get what git needs and not this process's secrets.
_ENVIRONMENT = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TMPDIR",
        "LD_LIBRARY_PATH",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "SSH_AUTH_SOCK",
        "GNUPGHOME",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
# Of git's own variables, who commits and how to connect; never which repository or index.
_GIT_ENVIRONMENT = (
    "GIT_SSH",
    "GIT_ASKPASS",
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CONFIG_",
    "GIT_SSL_",
    "GIT_HTTP_",
    "GIT_ALLOW_PROTOCOL",
    "GIT_EXEC_PATH",
)
_FIXED = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "SSH_ASKPASS_REQUIRE": "never",
}


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Choose what git and the repository's hooks may know of *inherited*."""
    kept = {
        name: value
        for name, value in inherited.items()
        if name in _ENVIRONMENT or name.lower() in _PROXIES or name.startswith(_GIT_ENVIRONMENT)
    }
    return kept | _FIXED
