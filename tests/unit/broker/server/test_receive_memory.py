"""The default bound of the receive memory, from files as Linux shows them."""

import os

import pytest

from barnabas.broker.server.process_resources import receive_memory_bytes

MB = 1024 * 1024


@pytest.fixture
def root(tmp_path):
    return tmp_path


def put(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_setting_is_the_bound(root):
    assert receive_memory_bytes(300 * MB, root) == 300 * MB


@pytest.mark.parametrize("unset", [-1, 0])
def test_without_anything_else_it_is_a_quarter_of_the_machine(root, unset):
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert receive_memory_bytes(unset, root) == physical // 4


@pytest.mark.parametrize(("inner", "outer"), [("67108864", "max"), ("max", "67108864"), ("67108864", "134217728")])
def test_the_tightest_control_group_counts(root, inner, outer):
    put(root, "proc/self/cgroup", "0::/system/barnabas\n")
    put(root, "sys/fs/cgroup/system/barnabas/memory.max", inner + "\n")
    put(root, "sys/fs/cgroup/system/memory.max", outer + "\n")
    assert receive_memory_bytes(-1, root) == 16 * MB


def test_control_groups_of_the_first_version(root):
    put(root, "proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n")
    put(root, "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "67108864\n")
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert receive_memory_bytes(-1, root) == 16 * MB


def test_a_container_that_sees_only_its_own_group(root):
    put(root, "proc/self/cgroup", "4:memory:/on/the/host\n")
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n")
    assert receive_memory_bytes(-1, root) == 16 * MB


def test_there_is_always_some(root):
    put(root, "proc/self/cgroup", "0::/\n")
    put(root, "sys/fs/cgroup/memory.max", "1000\n")
    assert receive_memory_bytes(-1, root) == MB
