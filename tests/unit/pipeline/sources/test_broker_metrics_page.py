"""A broker's page of figures: what is read of it, and how counters become figures."""

from dataclasses import replace

import pytest

from barnabas.pipeline.jobs.operations.minute_metrics import SINCE_LAST_LOOK
from barnabas.pipeline.sources.broker_metrics import BrokerFigure
from barnabas.pipeline.sources.broker_metrics_page import COUNTERS, BrokerPage, page_figures, read_page

PAGE = """\
# HELP kafka_server_app_info Always 1.
# TYPE kafka_server_app_info gauge
kafka_server_app_info{version="2.7.2",clusterId="c",brokerId="3"} 1
# TYPE barnabas_loop_stalled_ms_total counter
barnabas_loop_stalled_ms_total 700
# TYPE kafka_server_socket_server_metrics_failed_authentication_total counter
kafka_server_socket_server_metrics_failed_authentication_total{listener="A"} 2
kafka_server_socket_server_metrics_failed_authentication_total{listener="B"} 3
# TYPE kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent gauge
kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent 0.75
# TYPE kafka_network_requestmetrics_requestqueuetimems summary
kafka_network_requestmetrics_requestqueuetimems{request="Produce",quantile="0.5"} 900
kafka_network_requestmetrics_requestqueuetimems{request="Produce",quantile="0.99"} 12.5
kafka_network_requestmetrics_requestqueuetimems{request="Fetch",quantile="0.99"} 3
kafka_network_requestmetrics_requestqueuetimems{request="Metadata",quantile="0.99"} NaN
kafka_network_requestmetrics_requestqueuetimems_count{request="Produce"} 5000
# TYPE kafka_log_logcleanermanager_uncleanable_partitions_count gauge
kafka_log_logcleanermanager_uncleanable_partitions_count{logDirectory="/a"} 1
kafka_log_logcleanermanager_uncleanable_partitions_count{logDirectory="/b"} 2
# TYPE kafka_server_quota_throttle_time gauge
kafka_server_quota_throttle_time{resource="Produce",user="ann",clientId="a"} 20
kafka_server_quota_throttle_time{resource="Request",user="ann",clientId="a"} 90
kafka_server_quota_throttle_time{resource="Fetch",user="bob"} 300
kafka_server_quota_throttle_time{resource="Fetch",user="eve",clientId="e"} 0
kafka_server_quota_throttle_time{resource="Produce",user="eve",clientId="e"} NaN
"""


def test_figures_are_read_by_their_names() -> None:
    page = read_page(PAGE, "h:9644")
    assert (page.broker, dict(page.values)) == (
        "3",
        {
            "loop_stalled_ms": 700,
            "failed_logins": 5,
            "busy_percent": 25,
            "request_queue_p99_ms": 12.5,
            "uncleanable_partitions": 3,
        },
    )


def test_who_is_held_is_told_without_the_limit_and_once() -> None:
    assert read_page(PAGE, "").throttled == (
        BrokerFigure("3", "throttle_ms", 300, "ms", user="bob", client_id="", quota="consumer_byte_rate"),
        BrokerFigure("3", "throttle_ms", 90, "ms", user="ann", client_id="a", quota="request_percentage"),
    )


def test_page_that_tells_nothing_that_is_known() -> None:
    assert read_page("# TYPE up gauge\nup 1\n", "h:9644") == BrokerPage("h:9644", {})


def test_what_is_no_page_is_refused() -> None:
    with pytest.raises(ValueError, match="it is not a page of metrics: invalid metric name"):
        read_page("<html> not a page </html>", "h:9644")


def test_counters_are_told_by_what_they_have_grown_and_levels_as_they_are() -> None:
    before = BrokerPage("0", {"loop_stalls": 4, "busy_percent": 10})
    assert page_figures(None, before) == [BrokerFigure("0", "busy_percent", 10, "percent")]
    now = replace(before, values={"loop_stalls": 7, "busy_percent": 20, "failed_logins": 2})
    assert page_figures(before, now) == [
        BrokerFigure("0", "loop_stalls", 3, "stalls"),
        BrokerFigure("0", "busy_percent", 20, "percent"),
    ]


def test_what_is_told_by_its_growth_is_added_up_by_the_job() -> None:
    assert set(COUNTERS) == set(SINCE_LAST_LOOK)


def test_counter_that_has_gone_back_began_anew() -> None:
    assert page_figures(BrokerPage("0", {"loop_stalls": 4}), BrokerPage("0", {"loop_stalls": 1})) == [
        BrokerFigure("0", "loop_stalls", 1, "stalls")
    ]
