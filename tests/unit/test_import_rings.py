"""No two files of the package import each other, directly or in a ring.

Imports inside functions and those for type checkers count as well: a file that needs another to be read, and the other
way round, is one file in two.
"""

import grimp
import pytest


def rings(graph: grimp.ImportGraph) -> list[list[str]]:
    """Every largest set of modules that can each be reached from each other by imports, sorted.

    Modules that import nobody, or only such modules, are in no ring and go first.
    """
    imports = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    while idle := {module for module, imported in imports.items() if not imported & set(imports)}:
        for module in idle:
            del imports[module]
    found = {tuple(sorted(_reached(imports, module) & _reaching(imports, module))) for module in imports}
    return sorted(list(ring) for ring in found if len(ring) > 1)


def _reached(imports: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    ahead = {start}
    while ahead:
        ahead = {target for module in ahead for target in imports[module] if target in imports} - reached
        reached |= ahead
    return reached | {start}


def _reaching(imports: dict[str, set[str]], end: str) -> set[str]:
    importers: dict[str, set[str]] = {module: set() for module in imports}
    for module, imported in imports.items():
        for target in imported & set(imports):
            importers[target].add(module)
    return _reached(importers, end)


def graph_of(*imports: tuple[str, str]) -> grimp.ImportGraph:
    graph = grimp.ImportGraph()
    for importer, imported in imports:
        graph.add_import(importer=importer, imported=imported)
    return graph


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ([("a", "b"), ("b", "c"), ("a", "c")], []),
        ([("a", "b"), ("b", "a")], [["a", "b"]]),
        ([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")], [["b", "c"]]),
        ([("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "d"), ("a", "d")], [["a", "b", "c"], ["d", "e"]]),
    ],
)
def test_rings_are_found(imports: list[tuple[str, str]], expected: list[list[str]]) -> None:
    assert rings(graph_of(*imports)) == expected


def test_no_files_import_each_other_in_a_ring() -> None:
    assert rings(grimp.build_graph("barnabas", cache_dir=None)) == []
