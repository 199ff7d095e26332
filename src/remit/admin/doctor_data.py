"""What `remit doctor` sees of the datasources of a tenant."""

from collections.abc import Iterable, Iterator

from remit.model.health import DatasourceHealth, Finding, Grade


def of_datasources(found: Iterable[DatasourceHealth]) -> Iterator[Finding]:
    """Give what is wrong with each, or that it answers."""
    for health in found:
        about = f"datasource {health.name}"
        if health.problem:
            yield Finding(
                code="datasource-unreachable",
                about=about,
                grade=Grade.ERROR,
                message=health.problem,
                remedy="start it, or correct it with `remit datasources set`",
            )
            continue
        for warning in health.warnings:
            yield Finding(
                code="datasource-role",
                about=about,
                grade=Grade.WARNING,
                message=warning,
                remedy="give the URL of a role that may read and nothing else",
            )
        if not health.warnings:
            yield Finding(
                code="ok",
                about=about,
                grade=Grade.OK,
                message=f"answers within {health.ms:.0f} ms",
            )
