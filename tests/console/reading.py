"""What a page of the console says, read from its HTML."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"script", "style"})


@dataclass(kw_only=True)
class Form:
    """A form of a page.

    Attributes:
        method: In lower case.
        fields: Names of what it sends.
    """

    method: str
    action: str
    fields: set[str] = field(default_factory=set[str])


class Reading(HTMLParser):
    """One page.

    Attributes:
        inline: What a strict policy of contents forbids: scripts, styles and handlers in the page.
        links: Where its links lead to, in their order.
        menu: Of those, the ones in the navigation.
        sources: Where scripts, styles and pictures come from.
        headings: How many there are of the first rank.
        doubled: Ids that stand for several elements.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.links: list[str] = []
        self.menu: list[str] = []
        self.sources: list[str] = []
        self.forms: list[Form] = []
        self.headings = 0
        self.doubled: list[str] = []
        self._ids: set[str] = set()
        self._is_in_menu = False
        self._is_in_form = False
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        given = {name: value or "" for name, value in attrs}
        self.inline += [
            f"<{tag} {name}>" for name in given if name == "style" or name.startswith("on")
        ]
        self.inline += [value for value in given.values() if value.startswith("javascript:")]
        if (own := given.get("id")) is not None:
            self.doubled += [own] if own in self._ids else []
            self._ids.add(own)
        self._open = tag if tag in VOID and "src" not in given else ""
        self._note(tag, given)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that holds nothing."""
        self.handle_starttag(tag, attrs)
        self._open = ""

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        self._open = ""
        self._is_in_menu = self._is_in_menu and tag != "nav"
        self._is_in_form = self._is_in_form and tag != "form"

    def handle_data(self, data: str) -> None:
        """Look at a text."""
        if self._open and data.strip():
            self.inline.append(f"<{self._open}> {data.strip()[:80]}")

    def _note(self, tag: str, given: dict[str, str]) -> None:
        if tag == "nav":
            self._is_in_menu = given.get("id") == "menu"
        elif tag == "h1":
            self.headings += 1
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])
            if self._is_in_menu:
                self.menu.append(given["href"])
        elif tag == "form":
            self._is_in_form = True
            method = given.get("method", "get").lower()
            self.forms.append(Form(method=method, action=given.get("action", "")))
        elif self._is_in_form and "name" in given:
            self.forms[-1].fields.add(given["name"])
        self.sources += [given[name] for name in ("src", "href") if name in given and tag != "a"]
