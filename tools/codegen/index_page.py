"""Writes PYPI.md, what a package index shows: the README, with the names of files in place of links to them.

The links lead nowhere outside of the repository, nor are its pictures there.

Usage: python -m tools.codegen.index_page
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def index_page(readme: str) -> str:
    """Return the README's text for readers who have nothing but this page."""
    without_pictures = re.sub(r"^!\[.*\n\n", "", readme, flags=re.MULTILINE)
    without_links = re.sub(r"\[([^\]]+)\]\((?!https:)[^)]+\)", r"`\1`", without_pictures)
    return re.sub(r"<!-- .* -->\n\n?", "", without_links)


if __name__ == "__main__":
    (ROOT / "PYPI.md").write_text(index_page((ROOT / "README.md").read_text()))
