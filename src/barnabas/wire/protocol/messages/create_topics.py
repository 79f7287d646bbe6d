"""CreateTopics (API key 19): request and response.

Generated from the CreateTopics schemas by scripts/generate.

Source: protocol guide, the API's section.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import ClassVar, Final

from barnabas.wire.protocol.wire import (
    Budget,
    MISSING,
    Message,
    Missing,
    Part,
    REQUEST_ELEMENT_LIMIT,
    WireBuffer,
    check_count,
    check_tag_end,
    not_in_version,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_tag,
    read_tagged_count,
    skip_tagged_fields,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_nullable_string,
    write_tagged_fields,
    write_uvarint,
    wrong_length,
)

_pack_h: Final = Struct(">h").pack
_pack_i: Final = Struct(">i").pack
_pack_ih: Final = Struct(">ih").pack
_pack_ihi: Final = Struct(">ihi").pack
_pack_ii: Final = Struct(">ii").pack
_pack_it: Final = Struct(">i?").pack
_pack_itB: Final = Struct(">i?B").pack
_pack_tbtB: Final = Struct(">?b?B").pack
_unpack_h: Final = Struct(">h").unpack_from
_unpack_hh: Final = Struct(">hh").unpack_from
_unpack_i: Final = Struct(">i").unpack_from
_unpack_ih: Final = Struct(">ih").unpack_from
_unpack_ihi: Final = Struct(">ihi").unpack_from
_unpack_ii: Final = Struct(">ii").unpack_from
_unpack_it: Final = Struct(">i?").unpack_from
_unpack_tbt: Final = Struct(">?b?").unpack_from


class CreatableReplicaAssignment(Part):
    """Part of CreateTopicsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "partition_index",
        "broker_ids",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids: list[int] = [] if broker_ids is None else broker_ids


class CreatableTopicConfig(Part):
    """Part of CreateTopicsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "value",
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


class CreatableTopic(Part):
    """Part of CreateTopicsRequest."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "num_partitions",
        "replication_factor",
        "assignments",
        "configs",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (
        ("assignments", CreatableReplicaAssignment, True),
        ("configs", CreatableTopicConfig, True),
    )

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] | None = None,
        configs: list[CreatableTopicConfig] | None = None,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments: list[CreatableReplicaAssignment] = [] if assignments is None else assignments
        self.configs: list[CreatableTopicConfig] = [] if configs is None else configs


class CreateTopicsRequest(Message):
    """CreateTopicsRequest (API key 19), versions 0-6."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "topics",
        "timeout_ms",
        "validate_only",  # versions 1+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", CreatableTopic, True),)

    SCHEMA_NAME: ClassVar[str] = "CreateTopicsRequest"
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    ELEMENT_LIMIT: ClassVar[int] = REQUEST_ELEMENT_LIMIT
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[CreateTopicsRequest, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[CreateTopicsRequest, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        topics: list[CreatableTopic] | None = None,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics: list[CreatableTopic] = [] if topics is None else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only


class CreatableTopicConfigs(Part):
    """Part of CreateTopicsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",  # versions 5+
        "value",  # versions 5+
        "read_only",  # versions 5+
        "config_source",  # versions 5+
        "is_sensitive",  # versions 5+
    )
    __slots__ = FIELDS

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive


class CreatableTopicResult(Part):
    """Part of CreateTopicsResponse."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "error_code",
        "error_message",  # versions 1+
        "topic_config_error_code",  # versions 5+, tag 0
        "num_partitions",  # versions 5+
        "replication_factor",  # versions 5+
        "configs",  # versions 5+
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("configs", CreatableTopicConfigs, True),)

    def __init__(
        self,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None | Missing = MISSING,
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs: list[CreatableTopicConfigs] | None = [] if isinstance(configs, Missing) else configs


class CreateTopicsResponse(Message):
    """CreateTopicsResponse (API key 19), versions 0-6."""

    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",  # versions 2+
        "topics",
    )
    __slots__ = FIELDS
    PARTS: ClassVar[tuple[tuple[str, type[Part], bool], ...]] = (("topics", CreatableTopicResult, True),)

    SCHEMA_NAME: ClassVar[str] = "CreateTopicsResponse"
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    DECODERS: ClassVar[tuple[Callable[[memoryview, int, Budget], tuple[CreateTopicsResponse, int]] | None, ...]]
    ENCODERS: ClassVar[tuple[Callable[[CreateTopicsResponse, WireBuffer], None] | None, ...]]

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[CreatableTopicResult] = [] if topics is None else topics


def _decode_creatable_replica_assignment_v0(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreatableReplicaAssignment, int]:
    partition_index, broker_ids_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - broker_ids_count
    if broker_ids_count < 0 or elements_left < 0 or broker_ids_count * 4 > len(buf) - pos:
        check_count(broker_ids_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    broker_ids = read_int32s(buf, pos, broker_ids_count)
    pos += 4 * broker_ids_count
    return CreatableReplicaAssignment(partition_index, broker_ids), pos


def _encode_creatable_replica_assignment_v0(msg: CreatableReplicaAssignment, out: WireBuffer) -> None:
    out += _pack_ii(msg.partition_index, len(msg.broker_ids))
    write_int32s(msg.broker_ids, out)


def _decode_creatable_topic_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[CreatableTopic, int]:
    (name_length,) = _unpack_h(buf, pos)
    pos += 2
    end = pos + name_length
    if name_length < 0 or end > len(buf):
        raise wrong_length("string", name_length, pos, buf)
    name = str(buf[pos:end], "utf-8")
    pos = end
    num_partitions, replication_factor, assignments_count = _unpack_ihi(buf, pos)
    pos += 10
    elements_left = budget.elements_left - assignments_count
    if assignments_count < 0 or elements_left < 0 or assignments_count * 8 > len(buf) - pos:
        check_count(assignments_count, len(buf) - pos, 8, budget)
    budget.elements_left = elements_left
    assignments: list[CreatableReplicaAssignment] = []
    for _ in range(assignments_count):
        assignments_item, pos = _decode_creatable_replica_assignment_v0(buf, pos, budget)
        assignments.append(assignments_item)
    (configs_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - configs_count
    if configs_count < 0 or elements_left < 0 or configs_count * 4 > len(buf) - pos:
        check_count(configs_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    configs: list[CreatableTopicConfig] = []
    for _ in range(configs_count):
        (configs_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + configs_name_length
        if configs_name_length < 0 or end > len(buf):
            raise wrong_length("string", configs_name_length, pos, buf)
        configs_name = str(buf[pos:end], "utf-8")
        pos = end
        (configs_value_length,) = _unpack_h(buf, pos)
        pos += 2
        configs_value: str | None = None
        if configs_value_length >= 0:
            end = pos + configs_value_length
            if end > len(buf):
                raise wrong_length("string", configs_value_length, pos, buf)
            configs_value = str(buf[pos:end], "utf-8")
            pos = end
        configs.append(CreatableTopicConfig(configs_name, configs_value))
    return CreatableTopic(name, num_partitions, replication_factor, assignments, configs), pos


def _encode_creatable_topic_v0(msg: CreatableTopic, out: WireBuffer) -> None:
    name_bytes = msg.name.encode()
    out += _pack_h(len(name_bytes))
    out += name_bytes
    out += _pack_ihi(msg.num_partitions, msg.replication_factor, len(msg.assignments))
    for assignments_item in msg.assignments:
        _encode_creatable_replica_assignment_v0(assignments_item, out)
    out += _pack_i(len(msg.configs))
    for configs_item in msg.configs:
        name_bytes = configs_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        write_nullable_string(configs_item.value, out)


def _decode_create_topics_request_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateTopicsRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 16 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 16, budget)
    budget.elements_left = elements_left
    topics: list[CreatableTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_creatable_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    (timeout_ms,) = _unpack_i(buf, pos)
    return CreateTopicsRequest(topics, timeout_ms), pos + 4


def _encode_create_topics_request_v0(msg: CreateTopicsRequest, out: WireBuffer) -> None:
    if msg.validate_only:
        raise not_in_version("CreateTopicsRequest.validate_only")
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_creatable_topic_v0(topics_item, out)
    out += _pack_i(msg.timeout_ms)


def _decode_create_topics_request_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateTopicsRequest, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 16 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 16, budget)
    budget.elements_left = elements_left
    topics: list[CreatableTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_creatable_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms, validate_only = _unpack_it(buf, pos)
    return CreateTopicsRequest(topics, timeout_ms, validate_only), pos + 5


def _encode_create_topics_request_v1(msg: CreateTopicsRequest, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        _encode_creatable_topic_v0(topics_item, out)
    out += _pack_it(msg.timeout_ms, msg.validate_only)


def _decode_creatable_replica_assignment_v5(
    buf: memoryview, pos: int, budget: Budget
) -> tuple[CreatableReplicaAssignment, int]:
    (partition_index,) = _unpack_i(buf, pos)
    broker_ids_count, pos = read_compact_count(buf, pos + 4, 4, budget)
    broker_ids = read_int32s(buf, pos, broker_ids_count)
    pos += 4 * broker_ids_count
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatableReplicaAssignment(partition_index, broker_ids), pos


def _encode_creatable_replica_assignment_v5(msg: CreatableReplicaAssignment, out: WireBuffer) -> None:
    out += _pack_i(msg.partition_index)
    write_uvarint(len(msg.broker_ids) + 1, out)
    write_int32s(msg.broker_ids, out)
    out.append(0)


def _decode_creatable_topic_config_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[CreatableTopicConfig, int]:
    name, pos = read_compact_string(buf, pos)
    value, pos = read_compact_nullable_string(buf, pos)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatableTopicConfig(name, value), pos


def _encode_creatable_topic_config_v5(msg: CreatableTopicConfig, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_compact_nullable_string(msg.value, out)
    out.append(0)


def _decode_creatable_topic_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[CreatableTopic, int]:
    name, pos = read_compact_string(buf, pos)
    num_partitions, replication_factor = _unpack_ih(buf, pos)
    assignments_count, pos = read_compact_count(buf, pos + 6, 6, budget)
    assignments: list[CreatableReplicaAssignment] = []
    for _ in range(assignments_count):
        assignments_item, pos = _decode_creatable_replica_assignment_v5(buf, pos, budget)
        assignments.append(assignments_item)
    configs_count, pos = read_compact_count(buf, pos, 3, budget)
    configs: list[CreatableTopicConfig] = []
    for _ in range(configs_count):
        configs_item, pos = _decode_creatable_topic_config_v5(buf, pos, budget)
        configs.append(configs_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatableTopic(name, num_partitions, replication_factor, assignments, configs), pos


def _encode_creatable_topic_v5(msg: CreatableTopic, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_ih(msg.num_partitions, msg.replication_factor)
    write_uvarint(len(msg.assignments) + 1, out)
    for assignments_item in msg.assignments:
        _encode_creatable_replica_assignment_v5(assignments_item, out)
    write_uvarint(len(msg.configs) + 1, out)
    for configs_item in msg.configs:
        _encode_creatable_topic_config_v5(configs_item, out)
    out.append(0)


def _decode_create_topics_request_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateTopicsRequest, int]:
    topics_count, pos = read_compact_count(buf, pos, 10, budget)
    topics: list[CreatableTopic] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_creatable_topic_v5(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms, validate_only = _unpack_it(buf, pos)
    pos += 6
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreateTopicsRequest(topics, timeout_ms, validate_only), pos


def _encode_create_topics_request_v5(msg: CreateTopicsRequest, out: WireBuffer) -> None:
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_creatable_topic_v5(topics_item, out)
    out += _pack_itB(msg.timeout_ms, msg.validate_only, 0)


def _decode_create_topics_response_v0(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateTopicsResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 4 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 4, budget)
    budget.elements_left = elements_left
    topics: list[CreatableTopicResult] = []
    for _ in range(topics_count):
        (topics_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + topics_name_length
        if topics_name_length < 0 or end > len(buf):
            raise wrong_length("string", topics_name_length, pos, buf)
        topics_name = str(buf[pos:end], "utf-8")
        pos = end
        (topics_error_code,) = _unpack_h(buf, pos)
        pos += 2
        topics.append(CreatableTopicResult(topics_name, topics_error_code))
    return CreateTopicsResponse(0, topics), pos


def _encode_create_topics_response_v0(msg: CreateTopicsResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        name_bytes = topics_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_h(topics_item.error_code)


def _decode_create_topics_response_v1(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateTopicsResponse, int]:
    (topics_count,) = _unpack_i(buf, pos)
    pos += 4
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[CreatableTopicResult] = []
    for _ in range(topics_count):
        (topics_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + topics_name_length
        if topics_name_length < 0 or end > len(buf):
            raise wrong_length("string", topics_name_length, pos, buf)
        topics_name = str(buf[pos:end], "utf-8")
        pos = end
        topics_error_code, topics_error_message_length = _unpack_hh(buf, pos)
        pos += 4
        topics_error_message: str | None = None
        if topics_error_message_length >= 0:
            end = pos + topics_error_message_length
            if end > len(buf):
                raise wrong_length("string", topics_error_message_length, pos, buf)
            topics_error_message = str(buf[pos:end], "utf-8")
            pos = end
        topics.append(CreatableTopicResult(topics_name, topics_error_code, topics_error_message))
    return CreateTopicsResponse(0, topics), pos


def _encode_create_topics_response_v1(msg: CreateTopicsResponse, out: WireBuffer) -> None:
    out += _pack_i(len(msg.topics))
    for topics_item in msg.topics:
        name_bytes = topics_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_h(topics_item.error_code)
        write_nullable_string(topics_item.error_message, out)


def _decode_create_topics_response_v2(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateTopicsResponse, int]:
    throttle_time_ms, topics_count = _unpack_ii(buf, pos)
    pos += 8
    elements_left = budget.elements_left - topics_count
    if topics_count < 0 or elements_left < 0 or topics_count * 6 > len(buf) - pos:
        check_count(topics_count, len(buf) - pos, 6, budget)
    budget.elements_left = elements_left
    topics: list[CreatableTopicResult] = []
    for _ in range(topics_count):
        (topics_name_length,) = _unpack_h(buf, pos)
        pos += 2
        end = pos + topics_name_length
        if topics_name_length < 0 or end > len(buf):
            raise wrong_length("string", topics_name_length, pos, buf)
        topics_name = str(buf[pos:end], "utf-8")
        pos = end
        topics_error_code, topics_error_message_length = _unpack_hh(buf, pos)
        pos += 4
        topics_error_message: str | None = None
        if topics_error_message_length >= 0:
            end = pos + topics_error_message_length
            if end > len(buf):
                raise wrong_length("string", topics_error_message_length, pos, buf)
            topics_error_message = str(buf[pos:end], "utf-8")
            pos = end
        topics.append(CreatableTopicResult(topics_name, topics_error_code, topics_error_message))
    return CreateTopicsResponse(throttle_time_ms, topics), pos


def _encode_create_topics_response_v2(msg: CreateTopicsResponse, out: WireBuffer) -> None:
    out += _pack_ii(msg.throttle_time_ms, len(msg.topics))
    for topics_item in msg.topics:
        name_bytes = topics_item.name.encode()
        out += _pack_h(len(name_bytes))
        out += name_bytes
        out += _pack_h(topics_item.error_code)
        write_nullable_string(topics_item.error_message, out)


def _decode_creatable_topic_configs_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[CreatableTopicConfigs, int]:
    name, pos = read_compact_string(buf, pos)
    value, pos = read_compact_nullable_string(buf, pos)
    read_only, config_source, is_sensitive = _unpack_tbt(buf, pos)
    pos += 4
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreatableTopicConfigs(name, value, read_only, config_source, is_sensitive), pos


def _encode_creatable_topic_configs_v5(msg: CreatableTopicConfigs, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    write_compact_nullable_string(msg.value, out)
    out += _pack_tbtB(msg.read_only, msg.config_source, msg.is_sensitive, 0)


def _decode_creatable_topic_result_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[CreatableTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    (error_code,) = _unpack_h(buf, pos)
    error_message, pos = read_compact_nullable_string(buf, pos + 2)
    num_partitions, replication_factor = _unpack_ih(buf, pos)
    configs_count, pos = read_compact_nullable_count(buf, pos + 6, 6, budget)
    configs: list[CreatableTopicConfigs] | None = None
    if configs_count >= 0:
        configs = []
        for _ in range(configs_count):
            configs_item, pos = _decode_creatable_topic_configs_v5(buf, pos, budget)
            configs.append(configs_item)
    topic_config_error_code: int = 0
    tagged_count, pos = read_tagged_count(buf, pos, budget)
    for _ in range(tagged_count):
        tag, tag_end, pos = read_tag(buf, pos)
        if tag == 0:
            (topic_config_error_code,) = _unpack_h(buf, pos)
            pos += 2
        else:
            pos = tag_end
        check_tag_end(pos, tag_end)
    return CreatableTopicResult(
        name, error_code, error_message, topic_config_error_code, num_partitions, replication_factor, configs
    ), pos


def _encode_creatable_topic_result_v5(msg: CreatableTopicResult, out: WireBuffer) -> None:
    write_compact_string(msg.name, out)
    out += _pack_h(msg.error_code)
    write_compact_nullable_string(msg.error_message, out)
    out += _pack_ih(msg.num_partitions, msg.replication_factor)
    write_uvarint(0 if msg.configs is None else len(msg.configs) + 1, out)
    if msg.configs:
        for configs_item in msg.configs:
            _encode_creatable_topic_configs_v5(configs_item, out)
    tagged: list[tuple[int, WireBuffer]] = []
    if msg.topic_config_error_code != 0:
        topic_config_error_code_value = WireBuffer()
        topic_config_error_code_value += _pack_h(msg.topic_config_error_code)
        tagged.append((0, topic_config_error_code_value))
    write_tagged_fields(tagged, out)


def _decode_create_topics_response_v5(buf: memoryview, pos: int, budget: Budget) -> tuple[CreateTopicsResponse, int]:
    (throttle_time_ms,) = _unpack_i(buf, pos)
    topics_count, pos = read_compact_count(buf, pos + 4, 12, budget)
    topics: list[CreatableTopicResult] = []
    for _ in range(topics_count):
        topics_item, pos = _decode_creatable_topic_result_v5(buf, pos, budget)
        topics.append(topics_item)
    pos += 1
    if buf[pos - 1]:
        pos = skip_tagged_fields(buf, pos - 1, budget)
    return CreateTopicsResponse(throttle_time_ms, topics), pos


def _encode_create_topics_response_v5(msg: CreateTopicsResponse, out: WireBuffer) -> None:
    out += _pack_i(msg.throttle_time_ms)
    write_uvarint(len(msg.topics) + 1, out)
    for topics_item in msg.topics:
        _encode_creatable_topic_result_v5(topics_item, out)
    out.append(0)


CreateTopicsRequest.DECODERS = (
    _decode_create_topics_request_v0,
    _decode_create_topics_request_v1,
    _decode_create_topics_request_v1,
    _decode_create_topics_request_v1,
    _decode_create_topics_request_v1,
    _decode_create_topics_request_v5,
    _decode_create_topics_request_v5,
)

CreateTopicsRequest.ENCODERS = (
    _encode_create_topics_request_v0,
    _encode_create_topics_request_v1,
    _encode_create_topics_request_v1,
    _encode_create_topics_request_v1,
    _encode_create_topics_request_v1,
    _encode_create_topics_request_v5,
    _encode_create_topics_request_v5,
)

CreateTopicsResponse.DECODERS = (
    _decode_create_topics_response_v0,
    _decode_create_topics_response_v1,
    _decode_create_topics_response_v2,
    _decode_create_topics_response_v2,
    _decode_create_topics_response_v2,
    _decode_create_topics_response_v5,
    _decode_create_topics_response_v5,
)

CreateTopicsResponse.ENCODERS = (
    _encode_create_topics_response_v0,
    _encode_create_topics_response_v1,
    _encode_create_topics_response_v2,
    _encode_create_topics_response_v2,
    _encode_create_topics_response_v2,
    _encode_create_topics_response_v5,
    _encode_create_topics_response_v5,
)
