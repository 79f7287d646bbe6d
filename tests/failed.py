"""What failed in the last run: `python -m tests.failed --most N` names it, and fails where it is more than N tests.

Source: pytest's own cache, which `pytest --last-failed` goes by.
"""

import argparse
import json
from pathlib import Path

_LAST_FAILED = Path(__file__).resolve().parents[1] / ".pytest_cache" / "v" / "cache" / "lastfailed"


def last_failed(path: Path = _LAST_FAILED) -> list[str]:
    """Their node ids, or the files where not even these could be read; empty where nothing is known."""
    return sorted(json.loads(path.read_text())) if path.exists() else []


def main() -> int:
    """Name them; the status: 1 where there are too many to be one more try's business, or none that are known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--most", type=int, required=True, help="so many may be run again")
    most = parser.parse_args().most
    failed = last_failed()
    print("\n".join(failed) or "it is not known what failed")
    return 0 if 0 < len(failed) <= most else 1


if __name__ == "__main__":
    raise SystemExit(main())
