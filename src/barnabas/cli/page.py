"""`barnabas page`: clusters in a browser: what is wrong first, topics, groups, and why."""

import gc
import logging
import os
from pathlib import Path
from typing import Annotated, Final

from barnabas.cli.connection import file_security
from barnabas.cli.options import (
    DEFAULT_SERVER,
    BootstrapServer,
    CommandConfig,
    Option,
    flag,
    paragraphs,
    run_async,
    stop_on_signals,
)
from barnabas.cli.output import note, say
from barnabas.clients.security import ClientSecurity, client_security
from barnabas.core.errors import BarnabasError
from barnabas.page.settings import DEFAULT_LISTENER, Settings, parse_clusters, parse_listeners

HELP = paragraphs(
    """Show clusters in a browser: what is not as it should be first, topics, groups, and why.

It is a process of its own, works with any Kafka since 2.7, and runs until Ctrl-C. It has no rights of its own: with
--login users log in with the cluster's own users and see what these may see; without it, whoever can open the page sees
what the page may see, so that it listens on this machine alone. Beyond it, it wants --login and TLS.

Examples:

  barnabas page

  barnabas page --cluster west=west-1:9092 --cluster east=east-1:9092

  barnabas page --login --listeners 0.0.0.0:9645 --tls-certificate page.pem --tls-key page.key --host-name
  kafka.example.org
"""
)
_MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")


def page(
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    command_config: CommandConfig = None,
    cluster: Annotated[
        list[str] | None,
        Option(
            "--cluster",
            metavar="NAME=HOST:PORT,...",
            help="A cluster by a name, for --bootstrap-server; up to 20.",
        ),
    ] = None,
    listeners: Annotated[
        str, Option("--listeners", metavar="ADDRESS:PORT,...", help="Where browsers find it.")
    ] = DEFAULT_LISTENER,
    login: Annotated[
        bool, flag("--login", "Users log in, with PLAIN or SCRAM; sasl.mechanism in --command-config says which alone.")
    ] = False,
    tls_certificate: Annotated[
        str | None,
        Option("--tls-certificate", metavar="FILE", help="Speak TLS: a certificate and its chain, as PEM."),
    ] = None,
    tls_key: Annotated[str | None, Option("--tls-key", metavar="FILE", help="Its private key, as PEM.")] = None,
    trusted_proxy: Annotated[
        str | None,
        Option(
            "--trusted-proxy",
            metavar="ADDRESS",
            help="Browsers come by a proxy at this address, which speaks TLS.",
        ),
    ] = None,
    root_path: Annotated[
        str, Option("--root-path", metavar="PATH", help="What the proxy takes off the beginning of paths: /kafka.")
    ] = "",
    host_name: Annotated[
        list[str] | None,
        Option("--host-name", metavar="NAME", help="A name by which browsers reach it, beside localhost."),
    ] = None,
    allow_changes: Annotated[
        bool, flag("--allow-changes", "Users may change what their rights let them; without it nothing is changed.")
    ] = False,
    mask: Annotated[
        list[str] | None,
        Option(
            "--mask",
            metavar="TOPICS:PATH,...",
            help="Hide fields of records (orders*:customer.email), or all but some (orders*:!id,status).",
        ),
    ] = None,
    max_read_rate: Annotated[
        int,
        Option("--max-read-rate", min=0, metavar="BYTES", help="What a search may read in a second; 0: no limit."),
    ] = 0,
    pipeline: Annotated[
        str | None,
        Option(
            "--pipeline", metavar="DIR", help="Show the pipeline, too: the runs whose checkpoints are there, alerts."
        ),
    ] = None,
    dies_with_parent: Annotated[bool, flag("--die-with-parent", "Stop at once when the parent process ends.")] = False,
    parent_pid: Annotated[
        int | None,
        Option("--parent-pid", metavar="PID", help="The parent that --die-with-parent means.", is_internal=True),
    ] = None,
) -> None:
    if dies_with_parent:
        # Not at the top: it loads ctypes.
        from barnabas.core.parent import die_with_parent

        die_with_parent(parent_pid or os.getppid())
    security, mechanisms = _security(command_config, login)
    if (tls_certificate is None) != (tls_key is None):
        raise BarnabasError("--tls-certificate and --tls-key go together")
    # The start makes many objects and no garbage; `serve` lets the collector in again.
    gc.disable()
    from barnabas.page.messages.masks import parse_mask

    settings = Settings(
        clusters=parse_clusters(cluster) if cluster else {"cluster": bootstrap_server},
        listeners=parse_listeners(listeners),
        security=security,
        mechanisms=mechanisms,
        tls=None if tls_certificate is None or tls_key is None else (tls_certificate, tls_key),
        trusted_proxy=trusted_proxy,
        root_path=root_path,
        host_names=frozenset(host_name or ()),
        allows_changes=allow_changes,
        masks=tuple(map(parse_mask, mask or ())),
        max_read_rate=max_read_rate,
        pipeline=None if pipeline is None else Path(pipeline),
    )
    settings.check()
    # Changes are told by lines on standard error.
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("barnabas.page").setLevel("INFO")
    from barnabas.page.serve import serve

    async def work() -> None:
        await serve(settings, stop_on_signals(), lambda address: say(f"the page is at {address}"))

    run_async(work())


def _security(path: str | None, login: bool) -> tuple[ClientSecurity | None, tuple[str, ...]]:
    """Read how brokers are reached; with logins, the file's own login is nobody's.

    Raises:
        ConfigError: The file can't be read, or a value can't be.
    """
    if path is None:
        return None, _MECHANISMS if login else ()
    from barnabas.core.config.properties import read_properties

    values, _ = read_properties(path)
    if not login:
        security = file_security(path, values)
        _tell_unused(path, values)
        return security, ()
    protocol = values.pop("security.protocol", "").upper()
    mechanism = values.pop("sasl.mechanism", None)
    if mechanism is not None and mechanism not in _MECHANISMS:
        raise BarnabasError(f"{path}: sasl.mechanism={mechanism}: with --login it is one of {', '.join(_MECHANISMS)}")
    of_tls = {name: values.pop(name) for name in list(values) if "ssl." in name}
    security = client_security({**of_tls, "security.protocol": "SSL"}) if protocol.endswith("SSL") else None
    if security is not None:
        security.context()
    _tell_unused(path, values)
    return security, _MECHANISMS if mechanism is None else (mechanism,)


def _tell_unused(path: str, values: dict[str, str]) -> None:
    if values:
        note(f"{path}: without effect here: {', '.join(values)}")
