"""Nothing that a broker or a client is made of reads the world but through the environment that it is given."""

import ast
from collections.abc import Iterator
from pathlib import Path

import barnabas

SOURCE = Path(barnabas.__file__).parent
PACKAGES = ("broker", "charts", "clients", "core", "wire")

# What a module can reach the world with.
WORLD = frozenset(
    [
        "concurrent",
        "ctypes",
        "datetime",
        "fcntl",
        "getpass",
        "glob",
        "kazoo",
        "mmap",
        "multiprocessing",
        "os",
        "platform",
        "queue",
        "random",
        "resource",
        "sched",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "uuid",
    ]
)
WAYS_OUT_OF_ASYNCIO = frozenset(
    [
        "open_connection",
        "open_unix_connection",
        "start_server",
        "to_thread",
        "new_event_loop",
        "run",
        "create_subprocess_exec",
    ]
)
WAYS_OUT_OF_A_LOOP = frozenset(
    ["run_in_executor", "add_reader", "add_writer", "getaddrinfo", "sock_recv", "sock_sendall"]
)
WAYS_TO_A_FILE = frozenset(
    ["read_bytes", "read_text", "write_bytes", "write_text", "iterdir", "rglob", "touch", "unlink", "mkdir"]
)

# The files that are the environment, and what each of them reaches for.
ENVIRONMENT = {
    "core/clock.py": {"time"},
    "core/dice.py": {"random"},
    "core/executor.py": {"concurrent", "threading"},
    # Gives memory back to the system; opens standard streams; the signals that stop a process.
    # Gives memory back to the system; opens standard streams; names the signals that stop a process.
    "core/process.py": {"ctypes", "os", "signal"},
    "broker/log/disk/files.py": {"fcntl", "os", "shutil", "a file"},
    "broker/log/disk/kernel_pages.py": {"ctypes", "mmap", "os"},
    "broker/log/disk/reservation.py": {"ctypes", "os"},
    # Memory of its own, not a file's.
    "broker/log/cleaner/offset_map.py": {"mmap"},
    "broker/net/framing.py": {"mmap"},
    "wire/records/compression/zstd.py": {"mmap"},
    # A lock decides nothing.
    "broker/log/cleaner/throttle.py": {"threading"},
    "broker/net/selector.py": {"select", "selectors", "the loop"},
    "broker/net/sockets.py": {"os", "select", "socket", "the loop"},
    # Buffers of its own, and the files whose slices it is given.
    "broker/net/tls_channel.py": {"os", "ssl"},
    "broker/registry/journal.py": {"sqlite3", "a file"},
    "clients/zookeeper/kazoo_client.py": {"kazoo"},
    "clients/zookeeper/registry.py": {"kazoo", "asyncio"},
    # For kazoo, which works beside the loop.
    "clients/zookeeper/tls.py": {"socket", "ssl"},
    # The JAAS file.
    "broker/server/jaas_settings.py": {"a file"},
    "clients/environment.py": {"asyncio"},
    # The texts and names of errors.
    "clients/channel.py": {"os", "socket"},
    # A moment that is written in a text.
    "clients/positions.py": {"datetime"},
    "clients/offset_resets.py": {"datetime"},
    # Moments of a plot's axis, which are given.
    "charts/labels.py": {"datetime"},
    "charts/time_plot.py": {"datetime"},
    # Before there is a broker: what it is built of, its parent, its standard streams.
    "core/build.py": {"a file"},
    "core/command_line.py": {"os"},
    "core/parent.py": {"ctypes", "os", "select", "signal", "threading", "time"},
    "broker/server/main.py": {"os"},
    # Dates are written with a time that is given.
    "broker/log/directories/directory.py": {"time"},
    "broker/log/producers/open_transactions.py": {"time"},
    # The settings file, read before there is a broker.
    "core/config/properties.py": {"a file"},
    # The socket that the test kit gave.
    "broker/server/interception_channel.py": {"socket"},
    "broker/server/server_loop.py": {"asyncio", "os"},
    # A process of its own: no broker waits for it.
    "broker/server/page_process.py": {"asyncio", "os", "subprocess", "threading"},
    # A thread and a loop of its own: no broker waits for it.
    "broker/server/http_server.py": {"asyncio", "socket", "threading", "time"},
    "core/listening.py": {"socket", "the loop"},
    "broker/server/process_resources.py": {"os", "resource", "a file"},
    "broker/server/watchdog.py": {"os"},
    # Keys and certificates: what shows that a file was replaced, and OpenSSL, which reads files alone.
    "broker/server/listener_tls.py": {"os", "ssl"},
    "wire/security/tls/contexts.py": {"os", "ssl", "tempfile"},
    "wire/security/tls/stores.py": {"a file"},
}
# Where the environment is used for one thing alone: whatever else of that module is a way out.
ALLOWED_NAMES = {
    "clients/channel.py": {"os.strerror", "socket.EAI_NONAME", "socket.gaierror"},
    "broker/log/directories/directory.py": {"time.gmtime", "time.strftime"},
    "broker/log/producers/open_transactions.py": {"time.gmtime", "time.strftime"},
    "broker/net/tls_channel.py": {"os.preadv"},
    "broker/server/listener_tls.py": {"os.stat", "ssl.SSLContext"},
}


# The machine's own world, piece by piece, and who may put it together.
MACHINE = frozenset(
    [
        "SystemClock",
        "LoopTimers",
        "ThreadExecutor",
        "LocalFileSystem",
        "SocketNetwork",
        "SqliteRegistry",
        "MachineHttp",
        "MachineLimits",
        "Journal",
        "system_dice",
        "system_page_cache",
        "new_stop_signal",
        "machine_environment",
    ]
)
COMPOSERS = {
    "broker/server/environment.py": MACHINE,
    "clients/environment.py": MACHINE,
    "broker/server/lifecycle.py": {"machine_environment"},
    "broker/server/registry_server.py": {"machine_environment"},
    # The process's own log lines.
    "broker/server/main.py": {"SystemClock"},
    # What is not given is the machine's own: for users of a library, and tests of one part.
    "clients/channel.py": {"machine_environment"},
    "clients/pool.py": {"machine_environment"},
    "broker/log/manager.py": {"LocalFileSystem", "system_dice"},
}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All but those that only a type checker sees."""
    for child in ast.iter_child_nodes(tree):
        if not is_for_types(child):
            yield child
            yield from nodes(child)


def names_used(tree: ast.Module, module: str) -> set[str]:
    return {
        f"{module}.{node.attr}"
        for node in nodes(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module
    }


def is_a_wait(node: ast.Call) -> bool:
    """A sleep of more than nothing: who serves clients is woken by timers."""
    return not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)


def ways_out(tree: ast.Module, package: str) -> set[str]:
    """What a module reaches the world with."""
    found: set[str] = set()
    for node in nodes(tree):
        match node:
            case ast.Import(names=names):
                found |= {alias.name.split(".")[0] for alias in names} & WORLD
            case ast.ImportFrom(module=str(module), level=0):
                found |= {module.split(".")[0]} & WORLD
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr=name)):
                if name in WAYS_OUT_OF_ASYNCIO or (name == "sleep" and package != "clients" and is_a_wait(node)):
                    found.add("asyncio")
            case ast.Call(func=ast.Name(id="open")):
                found.add("a file")
            case ast.Call(func=ast.Attribute(attr=name)) if name in WAYS_TO_A_FILE:
                found.add("a file")
            case ast.Call(func=ast.Attribute(attr="time", value=value)) if package != "clients":
                found.add(f"{ast.unparse(value)}.time")
            case ast.Attribute(attr=name) if name in WAYS_OUT_OF_A_LOOP:
                found.add("the loop")
    return found


def modules() -> list[str]:
    return sorted(
        path.relative_to(SOURCE).as_posix()
        for package in PACKAGES
        for path in (SOURCE / package).rglob("*.py")
        if path.parent.name != "messages"
    )


def test_every_package_of_a_broker_is_looked_at():
    outside = {"api", "cli", "explain", "inspection", "migration", "page", "pipeline", "testing"}
    assert {each.name for each in SOURCE.iterdir() if (each / "__init__.py").exists()} == outside | set(PACKAGES)


def test_nothing_but_the_environment_reads_the_world():
    escapes = {}
    for name in modules():
        found = ways_out(ast.parse((SOURCE / name).read_text()), name.split("/")[0])
        if found - ENVIRONMENT.get(name, set()):
            escapes[name] = sorted(found - ENVIRONMENT.get(name, set()))
    assert escapes == {}


def test_the_environment_is_no_wider_than_it_has_to_be():
    too_much = {}
    for name, allowed in ENVIRONMENT.items():
        tree = ast.parse((SOURCE / name).read_text())
        unused = allowed - ways_out(tree, name.split("/")[0])
        if unused:
            too_much[name] = sorted(unused)
    assert too_much == {}


def test_what_is_allowed_for_one_thing_is_used_for_that_alone():
    for name, allowed in ALLOWED_NAMES.items():
        tree = ast.parse((SOURCE / name).read_text())
        for module in {each.split(".")[0] for each in allowed}:
            assert names_used(tree, module) <= allowed, name


def test_dates_are_written_with_a_time_that_is_given():
    for name in ("broker/log/directories/directory.py", "broker/log/producers/open_transactions.py"):
        for node in nodes(ast.parse((SOURCE / name).read_text())):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr=function), args=arguments):
                    assert len(arguments) == {"gmtime": 1, "strftime": 2}[function], name


def test_the_world_is_put_together_in_one_place():
    made = {}
    for name in modules():
        tree = ast.parse((SOURCE / name).read_text())
        called = {
            node.func.id for node in nodes(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        if called & MACHINE - COMPOSERS.get(name, set()):
            made[name] = sorted(called & MACHINE - COMPOSERS.get(name, set()))
    assert made == {}
