"""Writes PYPI.md, the page of a package index: the README without pictures, and with file names instead of links.

Links and pictures of the repository do not work elsewhere.

Usage: python -m tools.codegen.index_page
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def index_page(readme: str) -> str:
    """Return the README's text for readers outside of the repository."""
    without_pictures = re.sub(r"^!\[.*\n\n", "", readme, flags=re.MULTILINE)
    without_links = re.sub(r"\[([^\]]+)\]\((?!https:)[^)]+\)", r"`\1`", without_pictures)
    return re.sub(r"<!-- .* -->\n\n?", "", without_links)


if __name__ == "__main__":
    (ROOT / "PYPI.md").write_text(index_page((ROOT / "README.md").read_text()))
