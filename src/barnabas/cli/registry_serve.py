"""`barnabas registry serve`: a registry server for a cluster of several brokers without ZooKeeper."""

import gc
import logging
import os
from pathlib import Path
from typing import Annotated

from barnabas.cli.options import Option, flag, paragraphs
from barnabas.core.errors import BarnabasError

SERVE_HELP = paragraphs(
    """Serve the state of a cluster of several brokers, in place of ZooKeeper.

Brokers, including Kafka's, connect to it by zookeeper.connect; ZooKeeper's own tools can read and write it. Sessions
survive its restart. It is a single server: while it is down, records are still produced and consumed, but no leader is
elected. To survive the loss of its machine, run a ZooKeeper ensemble of three instead. Stop it with Ctrl-C or SIGTERM.

The file and --override accept the settings by which a broker serves its own registry: barnabas.registry.*,
listener.name.registry.*, ssl.*. With barnabas.http.listeners it serves /health and /ready.

Example:

  barnabas registry serve --data-dir /var/lib/barnabas-registry --listeners 127.0.0.1:2181
"""
)


def serve(
    file: Annotated[
        str | None,
        Option(
            metavar="server.properties",
            help="Properties file with settings of its listeners, such as barnabas.registry.*.",
        ),
    ] = None,
    data_dir: Annotated[
        Path,
        Option("--data-dir", metavar="DIRECTORY", help="Directory of the state; must not be a broker's log directory."),
    ] = Path("barnabas-registry"),
    listeners: Annotated[
        str,
        Option("--listeners", metavar="HOST:PORT,...", help="Addresses to listen on; port 0 lets the system choose."),
    ] = "127.0.0.1:2181",
    override: Annotated[
        list[str] | None,
        Option("--override", metavar="NAME=VALUE", help="Setting that overrides the file. May be repeated."),
    ] = None,
    ready_fd: Annotated[
        int | None,
        Option(
            "--ready-fd",
            metavar="N",
            help="Write a line of JSON (host, port) to this file once clients can connect.",
            is_internal=True,
        ),
    ] = None,
    dies_with_parent: Annotated[bool, flag("--die-with-parent", "Stop at once when the parent process ends.")] = False,
    parent_pid: Annotated[
        int | None,
        Option("--parent-pid", metavar="PID", help="Process id of the parent for --die-with-parent.", is_internal=True),
    ] = None,
) -> None:
    if dies_with_parent:
        from barnabas.core.parent import die_with_parent

        die_with_parent(parent_pid or os.getppid())
    # Imported late: they load the broker's modules, which help does not need.
    from barnabas.broker.server.main import set_up_logging
    from barnabas.broker.server.registry_server import run
    from barnabas.core.config import BrokerConfig, read_properties
    from barnabas.core.config.support import unknown_warnings

    settings = {} if file is None else read_properties(file)[0]
    # Settings of a broker that may be in the same file.
    settings.pop("zookeeper.connect", None)
    for text in override or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise BarnabasError(f"--override {text}: must be NAME=VALUE")
        settings[name.strip()] = value.strip()
    settings |= {"log.dirs": str(data_dir), "barnabas.registry.listeners": listeners}
    config = BrokerConfig.single_broker(settings)
    # The files contain credentials, so only their owner may read them.
    os.umask(0o077)
    set_up_logging("info")
    for warning in unknown_warnings(config.given):
        logging.getLogger(__name__).warning("%s", warning)
    gc.disable()
    run(config, ready_fd)
