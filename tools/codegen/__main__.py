"""Writes every generated module: `python -m tools.codegen` from the repository's root."""

import subprocess
import sys
from pathlib import Path

from tools.codegen import api_keys, error_codes, messages

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Generate and format modules, and remove modules whose schema was deleted."""
    files: dict[Path, str] = {}
    for generator in (messages, api_keys, error_codes):
        files.update(generator.generate(ROOT))
    wanted = {ROOT / path for path in files} | {ROOT / messages.PACKAGE / "__init__.py"}
    for stale in set((ROOT / messages.PACKAGE).glob("*.py")) - wanted:
        stale.unlink()
    for path, text in files.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
    modules = [str(ROOT / path) for path in files if path.suffix == ".py"]
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", *modules], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
