"""Shares the process's file descriptors between connections and logs.

Each segment and each connection needs one. Without free descriptors no log can roll, and a broker that cannot write
ends. So limits on connections and new partitions leave enough of them: clients' requests are refused first.

Source: getrlimit(2), RLIMIT_NOFILE; operations, open files.
"""

import resource


def raise_open_file_limit() -> None:
    """Raise the soft limit on open files to the hard one, as a JVM does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            # macOS names a hard limit that it does not grant.
            return


def highest_connection_descriptor() -> int:
    """Return the highest file descriptor for connections: a quarter of all is reserved for files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    # differs from Kafka (connections-open-files): it takes connections to the last descriptor.
    return -1 if soft == resource.RLIM_INFINITY else soft - soft // 4


def most_partitions() -> int:
    """Return how many partitions this broker accepts before it refuses new ones; each may grow to several segments."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 31 if soft == resource.RLIM_INFINITY else soft // 2
