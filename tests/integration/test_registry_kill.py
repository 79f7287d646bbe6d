"""What the embedded registry answered is there after kill -9, and nothing is half there."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.core.clock import SystemClock
from barnabas.core.executor import InlineExecutor

# Ten writers in turns: each transaction creates a node and its child; what was answered is printed.
WRITER = """
import asyncio, sys
from pathlib import Path
from barnabas.core.clock import SystemClock
from barnabas.core.executor import ThreadExecutor
from barnabas.broker.registry.embedded import EmbeddedRegistry
from barnabas.wire.registry.store import CreateOp

async def write(registry, writer):
    for number in range(1_000_000):
        path = f"/{sys.argv[2]}w{writer}n{number}"
        await registry.multi([CreateOp(path), CreateOp(path + "/child", b"x")])
        print(path, flush=True)

async def main():
    executor = ThreadExecutor(asyncio.get_running_loop(), "registry")
    registry = await EmbeddedRegistry.open(Path(sys.argv[1]), SystemClock(), executor)
    await registry.create("/alive", ephemeral=True)
    await asyncio.gather(*(write(registry, writer) for writer in range(10)))

asyncio.run(main())
"""


def write_until_killed(path: Path, prefix: str, answer_count: int) -> set[str]:
    """Run the writers, kill them after so many answers, and return all that were answered."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path), prefix], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        answered = [process.stdout.readline() for _ in range(answer_count)]
        process.send_signal(signal.SIGKILL)
        answered += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return {line.strip() for line in answered if line.endswith("\n")}


def test_kill_9_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    answered: set[str] = set()

    async def look() -> int:
        registry = await EmbeddedRegistry.open(path, SystemClock(), InlineExecutor())
        names = await registry.children("/")
        assert "alive" not in names
        assert answered <= {f"/{name}" for name in names}
        stats = []
        for name in names:
            assert await registry.children(f"/{name}") == ["child"]
            data, stat = await registry.get(f"/{name}/child")
            assert data == b"x"
            stats.append(stat.czxid)
        assert len(set(stats)) == len(stats)
        last = await registry.exists(await registry.create("/probe", ephemeral=True))
        await registry.close()
        assert last is not None
        assert last.czxid > max(stats)
        return last.czxid

    last_zxid = 0
    for round_number in range(3):
        answered |= write_until_killed(path, f"r{round_number}", 200)
        zxid = asyncio.run(look())
        assert zxid > last_zxid
        last_zxid = zxid
