"""Takes a picture of every page of the console, light and dark: `make screenshots`.

python -m tests.console.pictures docs/images/console
python -m tests.console.pictures /somewhere home servers --width 360
"""

import argparse
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from PIL import Image
from playwright.sync_api import Page as Tab
from tests.console.browsing import Theme, Windows, open_chromium
from tests.console.office import open_office

from remit.doors.console.pages import PAGES

SIGN_IN = "sign-in"
AS_READ = {"access": "/access?server=git"}
"""Pages that say more when somebody has asked for something."""

BELOW = {
    "what-if": "/access/what-if?as=role:backend_developer&tool=git/git_merge",
    "examination": "/servers/-examination",
    "retention": "/audit/retention",
}
"""What has a picture of its own though it is no page of the menu."""

PRESSED = {"examination": "Examine now"}
"""Buttons without which there is nothing to see."""

HEIGHT = 900
MOST_BYTES = 150_000
"""Of one picture, which a repository has to bear."""


def take(folder: Path, keys: list[str], width: int) -> None:
    """Put the pictures of pages into a folder, as `home-light.png`; of all pages without *keys*."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {SIGN_IN: "/sign-in", **{page.key: page.path for page in PAGES}, **AS_READ, **BELOW}
    with (
        TemporaryDirectory() as place,
        open_office(Path(place)) as office,
        open_chromium() as chromium,
    ):
        windows = Windows(browser=chromium, office=office)
        for key in keys or paths:
            for theme in get_args(Theme):
                who = None if key == SIGN_IN else "administrator"
                tab = windows(who, paths[key], theme=theme, width=width, height=HEIGHT)
                if key in PRESSED:
                    tab.get_by_role("button", name=PRESSED[key]).click()
                keep(tab, folder / f"{key}-{theme}.png")
                tab.close()
        windows.close()


def keep(tab: Tab, path: Path) -> None:
    """Write what a window shows."""
    tab.evaluate("() => document.fonts.ready")
    shot = Image.open(BytesIO(tab.screenshot(animations="disabled")))
    # 256 colours are as many as a page of text has, and take a third of the room
    shot.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    sys.stdout.write(f"{path.name:<40} {size:>8,} bytes\n")
    if size > MOST_BYTES:
        raise SystemExit(f"{path} is larger than {MOST_BYTES:,} bytes")


def main() -> None:
    """Take what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("keys", nargs="*", help="keys of pages; all without")
    parser.add_argument("--width", type=int, default=1280)
    given = parser.parse_args()
    take(given.folder, given.keys, given.width)


if __name__ == "__main__":
    main()
