"""What a browser would send of a form as the page has it, so that a test changes single fields."""

from html.parser import HTMLParser


class _Fields(HTMLParser):
    def __init__(self, action: str) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}
        self._action = action
        self._is_in_form = False
        self._select = ""
        self._area: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._is_in_form = given.get("action", "").endswith(self._action)
        elif not self._is_in_form:
            return
        elif tag == "select":
            self._select = given["name"]
        elif tag == "option":
            # the first one is sent unless another is chosen
            if self._select not in self.found or "selected" in given:
                self.found[self._select] = [given["value"]]
        elif tag == "textarea":
            self._area = self.found.setdefault(given["name"], [])
            self._area.append("")
        elif tag == "input" and "name" not in given:
            return  # never sent
        elif tag == "input" and (given.get("type") != "checkbox" or "checked" in given):
            self.found.setdefault(given["name"], []).append(given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_in_form = False
        elif tag == "textarea" and self._area is not None:
            self._area[-1] = self._area[-1].removeprefix("\n")
            self._area = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area[-1] += data


def fields_of(page: str, action: str) -> dict[str, list[str]]:
    """Return what the form of a page sends, by name, without having been touched.

    Args:
        page: HTML.
        action: What the address that it is sent to ends with.
    """
    reader = _Fields(action)
    reader.feed(page)
    reader.close()
    assert reader.found, f"no form that is sent to {action}"
    return reader.found
