"""Each page and each POST by each kind of user: it shows no more than commands do with the same login.

A view or a change that is added is asked for as the others are.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.page.authentication.request_checks import SECURITY_HEADERS
from barnabas.page.changes import CHANGES
from barnabas.page.changes.change import Change
from barnabas.page.messages.state import MessageState
from barnabas.page.views import VIEWS, messages, pipeline
from tests.integration.page_process import Answer, Window
from tests.integration.page_world import MASKED, PASSWORD, USERS, World, login, world_with_page
from tests.integration.test_page import next_event, stream
from tests.patience import PATIENCE_S, until

KINDS = (*VIEWS, *messages.kinds(MessageState()), pipeline.kind(MessageState(), Path()))
RECORD = {"print.key=true", "print.headers=true", "print.value=true"}
COMMANDS: tuple[tuple[str, ...], ...] = (
    *(("topics", "--describe"), ("topics", "--list"), ("groups", "--list"), ("groups", "--describe", "--all-groups")),
    *(("groups", "--describe", "--group", f"{name}-group", "--members") for name in ("hidden", "shown")),
    *(("configs", "--describe", "--topic", f"{name}-topic") for name in ("hidden", "shown")),
    *(
        (
            *("consume", "--topic", f"{name}-topic", "--from-beginning", "--max-messages", "1"),
            *(part for each in sorted(RECORD) for part in ("--property", each)),
        )
        for name in ("hidden", "shown")
    ),
    *(("acls", "--list"), ("users", "list"), ("quotas", "list"), ("quotas", "top", "--once", "--seconds", "300")),
    *(("log-dirs", "--describe"), ("transactions", "list"), ("cluster", "status"), ("explain",), ("explain", "client")),
)
PARTS = ("topic", "group", "client", "key", "value", "header")
RETENTION = {"hidden": "86399000", "shown": "86398000"}
SHOWN = {f"shown-{part}" for part in PARTS} | {RETENTION["shown"]}
OF_THE_CLUSTER = {"hidden-principal", "hidden-scram", "the-log-directory"}
HIDDEN = {f"hidden-{part}" for part in (*PARTS, "tx", "limited")} | {RETENTION["hidden"]}
# What each user is shown at least: who may see the cluster is told who was refused what, too. Commands tell all of it.
TABLE = {
    "nobody": set(),
    "describer": {"shown-topic"},
    "reader": SHOWN - {RETENTION["shown"]},
    "alterer": SHOWN - {"shown-key", "shown-value", "shown-header"},
    "watcher": OF_THE_CLUSTER,
    "ruler": OF_THE_CLUSTER,
    "root": SHOWN | HIDDEN | OF_THE_CLUSTER,
}
MARKS = TABLE["root"]


def query(name: str, kind: str) -> str:
    """Ask for all that any view takes, about a topic or a group."""
    return (
        f"?name={name}-{kind}&topic={name}-topic&partition=0&offset=0&place=oldest&user={name}-limited"
        f"&client_id={name}-sender&text={name[:-1]}&find={name[:-1]}&operation=Read&type=topic&resource=x"
    )


QUERIES = ("", *(query(name, kind) for name in ("hidden", "shown") for kind in ("topic", "group")))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_with_page(tmp_path_factory.mktemp("world")) as world:
        yield world


def marks(world: World, text: str, asked: Iterable[str]) -> set[str]:
    """Return the marks in a text, but for what was said in the question."""
    said = " ".join(asked)
    text = html.unescape(text).replace(str(world.broker.data_dir), "the-log-directory")
    return {each for each in MARKS if each in text and each not in said}


@pytest.mark.parametrize(
    ("user", "runs"), [("root", ["hidden-run", "shown-run"]), ("reader", ["shown-run"]), ("nobody", [])]
)
def test_the_pipelines_runs_are_told_to_who_may_see_their_topics(world: World, user: str, runs: list[str]) -> None:
    told = json.loads(world.windows[user].get("/c/cluster/pipeline", accept="application/json").text)["view"]
    assert [each["name"] for each in told["runs"]] == runs
    assert all((each["lag"], each["limited_by"], each["record_count"]) == (3, "a quota", 7) for each in told["runs"])
    assert f"{3 - len(runs)} run" in told["not_told"][0]
    letters = [(each["topic"], each["reason"], each["record_count"]) for each in told["letters"]]
    alerts = [(each["state"], each["alert"], each["sentence"]) for each in told["alerts"]]
    if user == "root":
        assert letters == [("shown-topic.dlq", "no JSON", 2), ("shown-topic.dlq", "<script>", 1)]
        assert alerts == [("resolved", "lag", "It is late.")]
    else:
        assert (letters, alerts) == ([], [])


@pytest.fixture(autouse=True)
def looks_soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `barnabas explain` take its second look at what moves sooner than after two seconds: nothing moves here."""
    monkeypatch.setattr("barnabas.explain.collector._SAMPLE_INTERVAL_S", 0.2)


def of_each_user(work: Callable[[str], set[str]], users: Iterable[str]) -> dict[str, set[str]]:
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(users, pool.map(work, users), strict=True))


def look(world: World, user: str) -> set[str]:
    """Look at each view; return what was seen."""
    found = set()
    for kind in KINDS:
        for asked in QUERIES:
            for accept in ("application/json", "text/html"):
                answer = world.windows[user].get(f"/c/cluster{kind.path}{asked}", accept=accept)
                assert answer.status in (200, 303, 401, 403, 404), answer.text
                assert SECURITY_HEADERS.items() <= answer.headers.items()
                assert PASSWORD.format(user) not in answer.text
                found |= marks(world, answer.text, [asked])
    return found


def test_each_view_shows_each_user_what_commands_tell_him(world: World) -> None:
    seen = of_each_user(lambda user: look(world, user), world.windows)
    assert seen["stranger"] == set()
    for user in USERS:
        told: set[str] = set()
        for words in COMMANDS:
            told |= marks(world, world.command(user, *words), words)
        assert TABLE[user] <= seen[user] <= told, user


def test_a_command_without_its_right_says_so(world: World) -> None:
    file = world.directory.parent / "of-hidden-topic.json"
    file.write_text(
        '{"version":1,"topics":[{"topic":"hidden-topic"}],"partitions":[{"topic":"hidden-topic","partition":0,"replicas":[0]}]}'
    )
    for words in (
        ("consume", "--topic", "hidden-topic"),
        ("reassign", "--generate", "--topics-to-move-json-file", str(file), "--broker-list", "0"),
        ("reassign", "--execute", "--reassignment-json-file", str(file)),
        ("groups", "--reset-offsets", "--group", "g", "--topic", "hidden-topic", "--to-earliest"),
        ("log-dirs", "--describe"),
        ("transactions", "list"),
        ("transactions", "hanging", "--topic", "hidden-topic"),
    ):
        assert "ask the cluster's administrator for access" in world.command("nobody", *words), words


@pytest.mark.parametrize("user", ["nobody", "describer"])
def test_what_may_not_be_seen_is_told_from_what_is_not_there_by_nothing(world: World, user: str) -> None:
    for kind in KINDS:
        for what in ("topic", "group"):
            told = [without_figures(world, user, kind.path, name, what) for name in ("hidden", "absent")]
            assert told[0] == told[1], kind.path


def without_figures(world: World, user: str, path: str, name: str, what: str) -> tuple[int, str]:
    """Return what a user is told of a thing, without its name and times."""
    asked = re.sub("&(text|find)=[a-z]*", "", query(name, what))
    answer = world.windows[user].get(f"/c/cluster{path}{asked}", accept="application/json")
    text = re.sub(r'"(now|since)_ms":\d+|\d+\.\d+(e-\d+)?', "", answer.text)
    return answer.status, text.replace(name, "")


# What is typed into the fields of forms; of others the first choice.
TYPED = {"partitions": "3", "principal": "User:nobody", "name": "hidden-topic", "users": "this one", "user": "alice"}
TYPED |= {"setting": "retention.ms", "value": "1", "to": "to-offset", "limit": "producer_byte_rate", "partition": "0"}


def typed(change: Change, name: str) -> dict[str, str]:
    """Fill in a form."""
    things = {"topic": f"{name}-topic", "group": f"{name}-group", "topics": f"{name}-topic"}
    if change.path.endswith("create-topic"):
        things["topic"] = "made-by-nobody"
    given = {**TYPED, **things}
    return {
        field.name: given.get(field.name, field.choices[0] if field.choices else field.value)
        for field in change.fields
        if field.name in given or field.choices or not field.is_optional
    }


def plan_of(answer: Answer) -> str:
    found = re.search(r'name="plan" value="([^"]+)"', answer.text)
    return found[1] if found else ""


def change(world: World, user: str, kind: Change, name: str) -> Answer:
    """Have a change shown, and carried out; return the last answer."""
    window, path, given = world.windows[user], f"/c/cluster{kind.path}", typed(kind, name)
    window.get(path)
    answer = window.post(path, given)
    assert SECURITY_HEADERS.items() <= answer.headers.items()
    assert marks(world, answer.text, [*given.values(), name]) <= TABLE.get(user, set())
    if plan_of(answer):
        answer = window.post(path, {"plan": plan_of(answer), "typed": given.get("topic", given.get("group", ""))})
    return answer


def state(world: World) -> list[str]:
    """Return what could have been changed."""
    commands = (
        ("topics", "--describe"),
        ("configs", "--describe", "--topic", "hidden-topic"),
        ("configs", "--describe", "--topic", "shown-topic"),
        ("groups", "--list"),
        ("acls", "--list"),
        ("quotas", "list"),
    )
    return [world.command("root", *each) for each in commands]


def test_changes_are_refused_to_who_may_not(world: World) -> None:
    before = state(world)
    for kind in CHANGES:
        for user in ("stranger", "nobody", "describer", "reader", "watcher"):
            for name in ("hidden", "shown"):
                answer = change(world, user, kind, name)
                refused = (303, 403) if user == "stranger" else (400, 403)
                assert answer.status in refused, (kind.path, user, answer.text)
    assert state(world) == before


POSTS = ("/login", "/logout", *(f"/c/cluster{each.path}" for each in CHANGES))


def test_no_post_is_taken_from_elsewhere(world: World) -> None:
    root, other, at = world.windows["root"], world.windows["reader"], f"127.0.0.1:{world.port}"
    other.get("/c/cluster/")
    root.get("/c/cluster/")
    foreign: tuple[dict[str, str], ...] = (
        *({"sec_fetch_site": each} for each in ("cross-site", "same-site", "none", "")),
        {"sec_fetch_site": "cross-site", "origin": f"http://{at}"},
        {"host": "evil.example.org", "origin": "http://evil.example.org"},
    )
    for path in POSTS:
        for headers in foreign:
            assert root.post(path, {}, **headers).status in (403, 421), (path, headers)
        for token in ("", other.token, "x" * 43):
            assert root.post(path, {"csrf": token}).status == 403, path
        for origin in ({}, {"origin": "http://evil.example.org"}, {"origin": "null"}, {"origin": f"https://{at}"}):
            sent = {"content_type": "application/x-www-form-urlencoded", **origin}
            assert root.ask("POST", path, f"csrf={root.token}", **sent).status == 403, (path, origin)
    for kind in KINDS:
        for host in (
            "evil.example.org",
            "127.0.0.1.evil.example.org",
            "localhost.evil",
            "",
            f"evil.example.org:{world.port}",
        ):
            assert root.get(f"/c/cluster{kind.path}", host=host).status in (400, 421), host
    assert root.get("/c/cluster/topics").status == 200


def connections(world: World) -> int:
    """Return how many connections the page has to the broker."""
    assert world.process is not None
    port = int(world.broker.bootstrap_servers.rpartition(":")[2])
    own = {path.readlink().name for path in Path(f"/proc/{world.process.pid}/fd").iterdir() if path.is_symlink()}
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(line[2].rpartition(":")[2], 16) == port and f"socket:[{line[9]}]" in own for line in lines)


def test_a_logout_ends_the_users_connections_and_its_cookie(world: World) -> None:
    before, window = connections(world), Window(world.port)
    assert window.log_in("nobody", PASSWORD.format("nobody")).status == 303
    cookie = window.cookie
    window.get("/c/cluster/topics")
    assert connections(world) > before
    assert window.post("/logout").status == 303
    until(lambda: connections(world) == before)
    window.cookie = cookie
    assert window.get("/c/cluster/topics").status == 303


def test_what_is_masked_is_nowhere(world: World) -> None:
    root = world.windows["root"]
    root.get("/c/cluster/tail?topic=cards")
    producer = Producer({"bootstrap.servers": world.broker.bootstrap_servers, **login("root")})
    value = json.dumps({"user": "ben", "card": MASKED[0]}).encode()
    producer.produce("cards", value, headers=[("t", MASKED[1].encode())])
    assert producer.flush(PATIENCE_S) == 0
    # Before anything else: a tail that nobody asks for ends.
    until(lambda: "ben" in root.get("/c/cluster/tail?topic=cards").text)
    records = ("/messages?", "/record?partition=0&offset=1&", "/tail?", "/download?partition=0&offset=1&")
    for path in (*records, "/download?part=key&partition=0&offset=1&"):
        for way in ("", *(f"&value_as={each}&key_as={each}" for each in ("text", "hex", "JSON"))):
            for accept in ("application/json", "text/html"):
                check_masked(root.get(f"/c/cluster{path}topic=cards{way}", accept=accept).text)
    saved = [
        root.get(f"/c/cluster/download?topic=cards&partition=0&offset=0&part={each}").text for each in ("value", "key")
    ]
    assert saved == ['{"user":"ann","card":"***"}', "***"]
    wishes = (f"text={MASKED[0]}", f"where=card+~+{MASKED[0][:4]}", f"header=t={MASKED[1]}", "text=ben")
    # Others' fields are found; by what is hidden nothing is.
    assert [searched(root, each) for each in wishes] == [0, 0, 0, 1]
    assert written_nowhere(world, *MASKED)


def searched(window: Window, wish: str) -> int:
    """Search to the end; return how much was found."""
    answer = window.search(f"topic=cards&{wish}")
    with stream(window.port, answer.headers["location"], window.cookie) as events:
        while "Search is running" in (text := next_event(events)):
            pass
    check_masked(text.replace(wish.partition("=")[2].rpartition("=")[2], ""))
    count = re.search(r"(\d+) found", text)
    assert count is not None, text
    return int(count[1])


def check_masked(text: str) -> None:
    """Fail where a text shows what is hidden."""
    for each in MASKED:
        assert each not in text
        assert each.encode().hex(" ") not in text


def written_nowhere(world: World, *secrets: str) -> bool:
    """Whether the page wrote none of these to its files or its log, nor shows them to who lists processes."""
    assert world.process is not None
    process = Path(f"/proc/{world.process.pid}")
    files = [*world.directory.rglob("*"), world.log, process / "cmdline", process / "environ"]
    data = b"".join(each.read_bytes() for each in files if each.is_file())
    return not any(each.encode() in data for each in secrets)


def test_passwords_are_in_no_log_file_or_address(world: World) -> None:
    window = Window(world.port)
    for user in ("nobody", "ruler"):
        answer = window.log_in(user, f"wrong-{PASSWORD.format(user)}")
        assert (answer.status, "location" in answer.headers) == (401, False)
        assert "pass-of" not in answer.text
    form = window.get("/login?user=root&password=typed-into-the-address").text
    assert 'method="post"' in form
    assert "typed-into-the-address" not in form
    assert written_nowhere(world, "pass-of", "typed-into-the-address")
