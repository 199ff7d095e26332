"""A datasource of its own for one module's tests, and what is asked and found about it.

with open_meaning(office) as meaning:
    meaning.client.ask(questions.list_all(*meaning.here))
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from tests.console.office import Office

from remit.client import Client, data_changes, datasources, questions
from remit.client.data_changes import Change
from remit.client.questions import Question
from remit.model.data import EngineKind
from remit.model.principals import DEFAULT_TENANT
from remit.testing.shops import make_shop, run_on_sqlite

NAME = "meaning"
MARKUP = "<script>alert('x')</script>"
HOSTILE = f"{MARKUP}\u202e & 'quoted\" %2e../"


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """The datasource.

    Attributes:
        client: An administrator's.
        file: Its database.
    """

    client: Client
    name: str
    file: Path
    id: str

    @property
    def here(self) -> tuple[str, str]:
        """Tenant and name, as operations of the client take them."""
        return DEFAULT_TENANT, self.name

    @property
    def at(self) -> str:
        """Path of what belongs to it at the console."""
        return f"/ontology/{self.id}"

    def run(self, *statements: str) -> None:
        """Change its database."""
        run_on_sqlite(self.file, statements)

    def refresh(self, *, select: bool = True) -> None:
        """Look at its schema."""
        self.client.ask(data_changes.refresh(*self.here, auto_select=select))

    def questions(self, status: str = "pending") -> Sequence[Question]:
        """Return what is asked about it."""
        return self.client.ask(questions.list_all(*self.here, status=status, limit=1000)).items

    def changes(self, status: str = "pending") -> Sequence[Change]:
        """Return what was found to differ in it."""
        return self.client.ask(data_changes.list_all(*self.here, status=status)).items

    def ask(self) -> Sequence[Question]:
        """Let there be a table that raises questions, and return them, most urgent first.

        It has no primary key, a column of few values, and one whose name is too short.
        """
        table = f"t{uuid4().hex[:8]}"
        self.run(f"CREATE TABLE {table} (kind VARCHAR(20), qx VARCHAR(9))")
        self.refresh()
        return [each for each in self.questions() if f"main.{table}" in each.tables]

    def add_table(self, name: str) -> Change:
        """Let there be a table that waits for a decision."""
        quoted = name.replace('"', '""')
        self.run(f'CREATE TABLE "{quoted}" (id INTEGER PRIMARY KEY, body VARCHAR(9))')
        self.refresh(select=False)
        (change,) = (each for each in self.changes() if each.table == f"main.{name}")
        return change


@contextmanager
def open_meaning(office: Office, name: str = NAME) -> Generator[Meaning]:
    """Add the datasource to an office, not looked at yet, and take it away at the end."""
    folder = office.folder / name
    folder.mkdir()
    file = Path(make_shop(EngineKind.SQLITE, folder))
    client = office.client()
    added = client.ask(
        datasources.add(DEFAULT_TENANT, name, engine="sqlite", url=str(file), settings={})
    )
    yield Meaning(client=client, name=name, file=file, id=added.id)
    client.ask(datasources.remove(DEFAULT_TENANT, name, if_match="*"))
    file.unlink()
    folder.rmdir()
