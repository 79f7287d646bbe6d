"""The table of routes: what is offered is what is handled."""

import pytest

from barnabas.broker.requests.handlers import HANDLERS, api_versions, heartbeat
from barnabas.broker.requests.table import Handler, RouteTable
from barnabas.core.config.versions import kafka_version
from barnabas.wire.protocol.api_keys import FIRST_FLEXIBLE_VERSION, response_class
from barnabas.wire.protocol.messages.heartbeat import HeartbeatRequest


def table(*handlers):
    return RouteTable(handlers, response_class, FIRST_FLEXIBLE_VERSION.__getitem__, api_versions.unsupported_version)


def test_every_version_of_every_handler_has_a_route():
    made = table(*HANDLERS)
    for handler in HANDLERS:
        assert made.by_key(handler.api_key << 16 | handler.min_version - 1) is None
        assert made.by_key(handler.api_key << 16 | handler.max_version + 1) is None
        for version in range(handler.min_version, handler.max_version + 1):
            route = made.by_key(handler.api_key << 16 | version)
            assert route is not None
            assert route.api_version == version


def test_what_is_offered_is_sorted_and_complete():
    offered = table(*HANDLERS).offered
    assert offered == sorted(offered)
    told = [handler for handler in HANDLERS if not handler.is_private]
    assert len(offered) == len(told) == len({key for key, _, _ in offered})


def test_what_is_private_is_served_and_not_offered():
    made = table(*HANDLERS)
    private = [handler for handler in HANDLERS if handler.is_private]
    assert [handler.request_class.SCHEMA_NAME for handler in private] == ["ExplainQuotasRequest", "FactsRequest"]
    for handler in private:
        assert made.by_key(handler.api_key << 16) is not None
        assert handler.api_key not in {key for key, _, _ in made.offered}


TRANSACTION_APIS = {24, 25, 26, 27, 28}


@pytest.mark.parametrize(("version", "hidden"), [("0.10.2", TRANSACTION_APIS), ("0.11.0", set()), ("2.7", set())])
def test_transaction_apis_are_offered_since_inter_broker_protocol_0_11(version, hidden):
    made = table(*HANDLERS)
    all_keys = {key for key, _, _ in made.offered}
    assert all_keys > TRANSACTION_APIS
    offered = made.offered_at(kafka_version(version))
    assert all_keys - {key for key, _, _ in offered} == hidden
    assert [each for each in made.offered if each[0] not in hidden] == offered


@pytest.mark.parametrize("api_key", [-1, -32_768, 999, 32_767])
@pytest.mark.parametrize("version", [-32_768, -1, 0, 32_767])
def test_what_nobody_handles_has_no_route(api_key, version):
    assert table(*HANDLERS).by_key(api_key << 16 | version) is None


def test_only_produce_may_have_any_number_of_elements():
    made = table(*HANDLERS)
    unlimited = {
        handler.api_key
        for handler in HANDLERS
        if not made.by_key(handler.api_key << 16 | handler.max_version).is_limited
    }
    assert unlimited == {0}


def test_a_version_that_the_protocol_does_not_know_is_a_bug():
    with pytest.raises((ValueError, IndexError)):
        table(api_versions.HANDLER, Handler(HeartbeatRequest, 0, 99, lambda ctx, request: None, heartbeat.refuse))
