"""`barnabas page`: a web console for clusters: problems and their causes, topics, groups."""

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
from barnabas.cli.output import announce, note
from barnabas.clients.security import PLAINTEXT, ClientSecurity, trimmed
from barnabas.core.errors import BarnabasError
from barnabas.page.settings import DEFAULT_LISTENER, Settings, parse_clusters, parse_listeners

HELP = paragraphs(
    """Show clusters in a browser: problems and their causes, topics, groups.

The page is a separate process, works with Kafka 2.7 and later, and runs until Ctrl-C. With --login, users log in as
users of the cluster and see what these may see. Without it, everyone who can open the page sees what the page's own
login may see, so it listens on this machine only. To listen on other addresses, --login and TLS are required.

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
            help="Cluster to show, with its name, instead of --bootstrap-server; up to 20 times.",
        ),
    ] = None,
    listeners: Annotated[
        str, Option("--listeners", metavar="ADDRESS:PORT,...", help="Addresses to listen on.")
    ] = DEFAULT_LISTENER,
    login: Annotated[
        bool,
        flag(
            "--login",
            "Require users to log in, with PLAIN or SCRAM; sasl.mechanism in --command-config allows only one "
            "mechanism.",
        ),
    ] = False,
    tls_certificate: Annotated[
        str | None,
        Option("--tls-certificate", metavar="FILE", help="Use TLS with this certificate and its chain, as PEM."),
    ] = None,
    tls_key: Annotated[
        str | None, Option("--tls-key", metavar="FILE", help="Private key of the certificate, as PEM.")
    ] = None,
    trusted_proxy: Annotated[
        str | None,
        Option(
            "--trusted-proxy",
            metavar="ADDRESS",
            help="Address of the reverse proxy, which speaks TLS with browsers.",
        ),
    ] = None,
    root_path: Annotated[
        str, Option("--root-path", metavar="PATH", help="Path prefix stripped by the proxy, such as /kafka.")
    ] = "",
    host_name: Annotated[
        list[str] | None,
        Option(
            "--host-name", metavar="NAME", help="Host name of the page in browsers, besides localhost. May be repeated."
        ),
    ] = None,
    allow_changes: Annotated[
        bool,
        flag(
            "--allow-changes",
            "Let users make the changes that they are authorized for; without it the page is read-only.",
        ),
    ] = False,
    mask: Annotated[
        list[str] | None,
        Option(
            "--mask",
            metavar="TOPICS:PATH,...",
            help="Hide fields of records (orders*:customer.email), or all fields but some (orders*:!id,status).",
        ),
    ] = None,
    max_read_rate: Annotated[
        int,
        Option(
            "--max-read-rate",
            min=0,
            metavar="BYTES",
            help="Most bytes per second that a search may read; 0 for no limit.",
        ),
    ] = 0,
    pipeline: Annotated[
        str | None,
        Option(
            "--pipeline",
            metavar="DIR",
            help="Directory of the pipeline, to show its runs with checkpoints and its alerts.",
        ),
    ] = None,
    dies_with_parent: Annotated[bool, flag("--die-with-parent", "Stop at once when the parent process ends.")] = False,
    parent_pid: Annotated[
        int | None,
        Option("--parent-pid", metavar="PID", help="Process id of the parent for --die-with-parent.", is_internal=True),
    ] = None,
) -> None:
    if dies_with_parent:
        # Imported late: it loads ctypes.
        from barnabas.core.parent import die_with_parent

        die_with_parent(parent_pid or os.getppid())
    security, mechanisms = _security(command_config, login)
    if (tls_certificate is None) != (tls_key is None):
        raise BarnabasError("--tls-certificate and --tls-key must be given together")
    # The start allocates many objects and no garbage; `serve` enables the collector again.
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
    # Changes are logged to standard error.
    logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("barnabas.page").setLevel("INFO")
    from barnabas.page.serve import serve

    async def work() -> None:
        await serve(settings, stop_on_signals(), lambda address: announce(f"the page is at {address}"))

    run_async(work())


def _security(path: str | None, login: bool) -> tuple[ClientSecurity | None, tuple[str, ...]]:
    """Read the TLS and SASL settings; with --login, the file's own login is not used.

    Raises:
        ConfigError: The file can't be read, or a value is invalid.
    """
    if path is None:
        return None, _MECHANISMS if login else ()
    from barnabas.core.config.properties import read_properties

    values = trimmed(read_properties(path)[0])
    if not login:
        security = file_security(path, values)
        _report_unused(path, values)
        return security, ()
    protocol = values.pop("security.protocol", PLAINTEXT).upper()
    mechanism = values.pop("sasl.mechanism", None)
    if mechanism is not None and mechanism not in _MECHANISMS:
        raise BarnabasError(f"{path}: sasl.mechanism={mechanism}: must be one of {', '.join(_MECHANISMS)} with --login")
    of_tls = {name: values.pop(name) for name in list(values) if "ssl." in name}
    security = file_security(path, {**of_tls, "security.protocol": protocol.removeprefix("SASL_")})
    _report_unused(path, values)
    return security, _MECHANISMS if mechanism is None else (mechanism,)


def _report_unused(path: str, values: dict[str, str]) -> None:
    if values:
        note(f"{path}: these properties have no effect here: {', '.join(values)}")
