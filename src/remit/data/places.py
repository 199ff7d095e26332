"""What no datasource may be: the gateway's own database, or anything of its state folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from remit.data.sealing import UrlSeal
from remit.data.urls import address_of, is_postgresql
from remit.errors import DataFailure
from remit.model.data import DataCode, Datasource, EngineKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """Where the gateway keeps what is its own.

    Attributes:
        folders: Such as the state folder.
        database_url: Of the gateway's own database.
    """

    folders: Sequence[Path]
    database_url: str

    def require_foreign(self, datasource: Datasource, seal: UrlSeal) -> None:
        """Let a datasource pass that is none of the gateway's own.

        Raises:
            DataFailure: `service_unavailable`: it is one.
        """
        if datasource.engine is EngineKind.POSTGRESQL:
            urls = [seal.url_of(datasource, use) for use in ("reader", "writer")]
            is_own = any(self.is_own_url(url) for url in (datasource.location, *urls) if url)
        else:
            is_own = self.is_own_path(Path(datasource.location))
        if is_own:
            raise DataFailure(
                DataCode.SERVICE_UNAVAILABLE,
                f"datasource {datasource.name!r} is the gateway's own database, or holds its state"
                " folder: take another one",
                details={"datasource": datasource.name},
            )

    def is_own_path(self, path: Path) -> bool:
        """Whether a file or folder is, holds, or is held by what is the gateway's own."""
        meant = path.resolve()
        return any(
            meant.is_relative_to(own) or own.is_relative_to(meant) for own in self._own_paths()
        ) or any(_is_same_file(meant, own) for own in self._own_paths())

    def is_own_url(self, url: str) -> bool:
        """Whether a URL of PostgreSQL names the gateway's own database."""
        return is_postgresql(self.database_url) and address_of(self.database_url) == address_of(url)

    def _own_paths(self) -> Sequence[Path]:
        paths = [folder.resolve() for folder in self.folders]
        if self.database_url.startswith("sqlite"):
            path = unquote(self.database_url.partition("///")[2].partition("?")[0])
            paths += [Path(f"{path}{end}").resolve() for end in ("", "-wal", "-shm")]
        return paths


def _is_same_file(path: Path, own: Path) -> bool:
    """Whether two names, such as hard links, lead to one file."""
    try:
        return path.samefile(own)
    except OSError:
        return False
