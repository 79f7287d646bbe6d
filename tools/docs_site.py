"""Hooks of the documentation site: links of a page have the same targets on the site as on a code host.

Pages link to files outside of docs/ and to directories, which MkDocs does not support. The hooks add them to the site:

| linked | on the site |
| --- | --- |
| a page or file in docs/ | at its path below docs/ |
| a page or file elsewhere in the repository | at its path, below `repository/`; links in it are followed, too |
| a directory | a generated list of its pages, unless it has a README.md |

Therefore the source of each file is its path from the repository's root, and so are the paths in `nav`.

Source: mkdocs.yml; MkDocs' events `on_files`, `on_page_markdown` and `on_page_content`.
"""

import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[1]
INDEX: Final = "README.md"
_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\]\((?![a-z]+:|[#/])([^)\s#]+)")
_ITEM: Final = re.compile(r"(?:-|\d\.) ")
_CELL: Final = re.compile(r"<td.*?</td>", re.DOTALL)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of docs/, all others in the repository that their pages link to, and the style sheet."""
    pending = []
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
            moved = _site_file(f"docs/{file.src_uri}", config, file.dest_uri)
            files.append(moved)
            pending.append(moved)
    files.append(_site_file("tools/docs_site.css", config, "assets/site.css"))
    while pending:
        page = pending.pop()
        if not page.is_documentation_page():
            continue
        for path in _linked(page.src_uri, page.content_string):
            uri = path.relative_to(ROOT).as_posix()
            if path.is_dir():
                uri += f"/{INDEX}"
            if files.get_file_from_path(uri) is None:
                added = _site_file(uri, config)
                if not (ROOT / uri).exists():
                    added = File.generated(config, uri, content=_list_of_pages(path))
                below_docs = uri.startswith("docs/")
                added.dest_uri = added.dest_uri.removeprefix("docs/") if below_docs else f"repository/{added.dest_uri}"
                files.append(added)
                pending.append(added)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text as Python-Markdown needs it.

    Links to directories become links to their index pages, and the contents of list items are indented by four spaces.
    """
    directory = (ROOT / page.file.src_uri).parent

    def with_index(match: re.Match[str]) -> str:
        return f"{match[0].rstrip('/')}/{INDEX}" if (directory / match[1]).is_dir() else match[0]

    lines = []
    padding = ""
    in_code = False
    for line in _LINK.sub(with_index, markdown).split("\n"):
        item = None if in_code else _ITEM.match(line)
        if item is not None:
            padding = " " * (4 - len(item[0]))
        elif line and not line.startswith("  "):
            padding = ""
            in_code ^= line.startswith("```")
        elif line:
            line = padding + line
        lines.append(line)
    return "\n".join(lines)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page without comments, which are for contributors, and with `\\|` in cells of tables as `|`."""
    return _CELL.sub(lambda cell: cell[0].replace("\\|", "|"), _COMMENT.sub("", html))


def _site_file(uri: str, config: MkDocsConfig, dest_uri: str | None = None) -> File:
    return File(uri, str(ROOT), config.site_dir, config.use_directory_urls, dest_uri=dest_uri)


def _linked(uri: str, markdown: str) -> set[Path]:
    """Return the existing files and directories of the repository that a page links to."""
    directory = (ROOT / uri).parent
    paths = {(directory / target).resolve() for target in _LINK.findall(_FENCE.sub("", markdown))}
    return {path for path in paths if path.exists() and path.is_relative_to(ROOT)}


def _list_of_pages(directory: Path) -> str:
    """Return a page with the titles of a directory's pages."""
    lines = [f"# {directory.relative_to(ROOT).as_posix().removeprefix('docs/')}", ""]
    for page in sorted(directory.glob("*.md")):
        title = page.read_text().partition("\n")[0].lstrip("# ")
        lines.append(f"- [{title}]({page.name})")
    return "\n".join(lines) + "\n"
