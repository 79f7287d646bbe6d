"""Where a mirrored record has been: a header by which mirrors that feed each other do not go round in circles.

    barnabas.provenance    the ids of the clusters that it has passed, comma between, its origin first

A record that has been in the target already is left out; one that comes from another mirror has its header extended, at
its place among the others.
"""

PROVENANCE = "barnabas.provenance"

# As a record has them, in order: names may come more than once, and a value may be null.
Headers = list[tuple[str, bytes | None]]


class Provenance:
    """The headers of records on their way from one cluster to another."""

    def __init__(self, source_cluster_id: str, target_cluster_id: str) -> None:
        """Args are the clusters' own ids."""
        self._source = source_cluster_id.encode()
        self._target = target_cluster_id.encode()
        # Of a record without any: the same list for all of them.
        self.alone: Headers = [(PROVENANCE, self._source)]

    def extended(self, headers: Headers) -> Headers | None:
        """Return the headers that a record has in the target; None where it is not to be mirrored.

        Args:
            headers: In the source.
        """
        for index, (name, value) in enumerate(headers):
            if name == PROVENANCE:
                passed = (value or b"").split(b",")
                if self._target in passed:
                    return None
                whole = b",".join([*(each for each in passed if each), self._source])
                return [*headers[:index], (PROVENANCE, whole), *headers[index + 1 :]]
        return [*headers, *self.alone]
