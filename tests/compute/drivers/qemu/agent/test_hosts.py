"""A host's report of itself. It boots a kernel to find out whether KVM works, because no other sign is
reliable."""

import os
import re

import pytest

from compute.drivers.qemu.agent import hosts, settings
from compute.drivers.qemu.agent.errors import Failed
from compute.drivers.qemu.agent.hosts import Trial
from tests.compute.drivers.qemu.hosts import configure, make_kernel

pytestmark = pytest.mark.guest


@pytest.fixture
def host(store):
    """A host with a kernel and an image, which finds out by itself whether to use KVM."""
    configure(store, accel="auto")
    make_kernel(store)
    image = store.image("compute/tiny")
    image.parent.mkdir()
    image.touch()
    return store


@pytest.fixture
def no_kvm(tmp_path, monkeypatch):
    monkeypatch.setattr(hosts, "KVM", tmp_path / "no-kvm")


def test_a_check_boots_a_kernel_and_reports_the_host(host, no_kvm):
    found = hosts.check(host)
    assert found["accel"] == settings.accelerator(host, settings.load(host)) == "tcg"
    assert "cannot be used" in found["why"]
    assert found["problems"] == []
    assert [image["id"] for image in found["images"]] == ["compute/tiny"]
    assert found["kernels"] == ["default"]
    assert found["volumes"]
    assert found["qemu"][0].isdecimal()
    assert min(found["memory"], found["cores"], found["disk"]) > 0


def test_the_result_of_a_trial_is_kept_until_the_next_trial(host, monkeypatch):
    trials = []

    def trial(_store, _host, accel, _seconds=0):
        trials.append(accel)
        return Trial(accel == "tcg", 1.0, "No.")

    monkeypatch.setattr(hosts, "boot_kernel", trial)
    monkeypatch.setattr(hosts, "KVM", host.root)  # as a device that may be opened
    monkeypatch.setattr(hosts, "try_kvm", lambda store, host: trial(store, host, "kvm"))
    for _ in range(2):
        assert hosts.check(host)["accel"] == "tcg"
    assert trials == ["kvm", "tcg"]
    hosts.check(host, again=True)
    assert trials == ["kvm", "tcg"] * 2
    assert hosts.check(host, accel="kvm")["accel"] is None
    with pytest.raises(Failed, match="do not boot"):
        settings.accelerator(host, settings.load(host))


def test_kvm_that_boots_a_kernel_is_taken(host, monkeypatch):
    monkeypatch.setattr(hosts, "try_kvm", lambda store, host: Trial(True, 0.5))
    assert hosts.check(host)["accel"] == "kvm"


def test_kvm_that_opens_and_is_useless_is_not_taken(host, monkeypatch, tmp_path):
    program = tmp_path / "qemu"
    program.write_text("#!/bin/sh\necho 'KVM internal error. Suberror: 1'\nexec sleep 600\n")
    program.chmod(0o700)
    device = tmp_path / "kvm"
    device.touch()
    monkeypatch.setattr(hosts, "KVM", device)
    configure(host, qemu=str(program))
    trial = hosts.try_kvm(host, settings.load(host))
    assert not trial.boots
    assert re.fullmatch(r"QEMU with KVM stopped after \d+\.\d s, before a kernel .* Suberror: 1'\.", trial.why)


def test_a_guest_that_never_starts_is_given_up(host, tmp_path):
    program = tmp_path / "qemu"
    program.write_text("#!/bin/sh\necho 'decompressing'\nexec sleep 600\n")
    program.chmod(0o700)
    configure(host, qemu=str(program))
    trial = hosts.boot_kernel(host, settings.load(host), "tcg", seconds=0.5)
    assert not trial.boots
    assert trial.why.startswith("No kernel boots with emulation within 0.5 s; its last output: ")


@pytest.mark.skipif(not os.access("/dev/kvm", os.R_OK | os.W_OK), reason="there is no /dev/kvm that one may open")
def test_the_kvm_of_this_machine_is_tried_and_an_answer_found(host):
    found = hosts.check(host)
    assert found["accel"] in ("kvm", "tcg")


def test_a_check_names_everything_that_is_missing(store):
    configure(store, qemu="/nowhere/qemu")
    problems = hosts.check(store)["problems"]
    assert "apt-get install" in problems[0]
    assert "no images" in problems[1]
    configure(store, qemu="qemu-system-x86_64")
    assert "no kernel" in hosts.check(store)["problems"][0]
