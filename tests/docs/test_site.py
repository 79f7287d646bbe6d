"""The documentation site: Markdown that a code host shows well is shown well there, and links lead out of docs/."""

from mkdocs.config import load_config
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools import docs_site

CONFIG = load_config(str(docs_site.ROOT / "mkdocs.yml"))
INDEX = Page(None, File("docs/README.md", str(docs_site.ROOT), CONFIG.site_dir, True), CONFIG)


def test_a_link_to_a_directory_leads_to_its_index() -> None:
    text = docs_site.on_page_markdown("[a](adr) [b](cli.md) [c](https://adr)", INDEX, CONFIG, Files([]))
    assert text == "[a](adr/README.md) [b](cli.md) [c](https://adr)"


def test_contents_of_list_items_are_indented_and_code_is_not() -> None:
    text = "1. a\n\n   ```sh\n   b\n   ```\n- c\n  d\n\n```yaml\n- e:\n  f: 1\n```\n"
    expected = "1. a\n\n    ```sh\n    b\n    ```\n- c\n    d\n\n```yaml\n- e:\n  f: 1\n```\n"
    assert docs_site.on_page_markdown(text, INDEX, CONFIG, Files([])) == expected


def test_comments_are_left_out_and_pipes_of_cells_are_plain() -> None:
    html = "<p>a<!-- held by\nx --></p><td><code>b\\|c</code></td><code>d\\|e</code>"
    shown = docs_site.on_page_content(html, INDEX, CONFIG, Files([]))
    assert shown == "<p>a</p><td><code>b|c</code></td><code>d\\|e</code>"


def test_files_that_pages_link_to_are_part_of_the_site() -> None:
    index = File("README.md", CONFIG.docs_dir, CONFIG.site_dir, True)
    files = CONFIG.plugins.on_files(Files([index]), config=CONFIG)
    addresses = {file.src_uri: file.dest_uri for file in files}
    assert addresses["docs/README.md"] == "index.html"
    assert addresses["CHANGELOG.md"] == "repository/CHANGELOG/index.html"
    assert addresses["benchmarks/results/README.md"] == "repository/benchmarks/results/index.html"
    assert addresses["docs/adr/README.md"] == "adr/index.html"
