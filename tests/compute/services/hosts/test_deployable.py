"""The images that a host can deploy, and the kernels that its machines boot."""

import pytest

from compute.services.hosts.deployable import NOT_THERE, boots_kernel, check_deployable
from config.errors import Problem, Problems
from tests.factories import AccountFactory, HostFactory, ImageFactory, KernelFactory

pytestmark = pytest.mark.django_db

REFUSED = [Problem(NOT_THERE, "image")]


def problems_of(image, host) -> list[Problem]:
    problems = Problems()
    check_deployable(image, host, problems)
    return list(problems)


def test_a_host_deploys_the_official_images_that_it_has():
    image = ImageFactory(id="compute/debian12")
    assert problems_of(image, HostFactory(images=["compute/debian12"])) == []
    assert problems_of(image, HostFactory(images=["compute/debian11"])) == REFUSED
    assert problems_of(image, HostFactory(images=[])) == REFUSED


def test_a_host_without_a_list_deploys_any_official_image():
    assert problems_of(ImageFactory(), HostFactory(images=None)) == []


def test_images_of_accounts_need_a_host_with_their_driver():
    image = ImageFactory(account=AccountFactory(), is_public=False, number=7, driver="qemu")
    assert problems_of(image, HostFactory(driver="qemu", images=[])) == []
    assert problems_of(image, HostFactory(driver="simulated", images=None)) == REFUSED


def test_no_image_is_deployable_anywhere():
    assert problems_of(None, HostFactory(images=[])) == []


def test_a_host_boots_kernels_of_its_architectures():
    kernel = KernelFactory(architecture="x86_64")
    assert boots_kernel(HostFactory(architectures=["i386", "x86_64"]).pk, kernel)
    assert not boots_kernel(HostFactory(architectures=["i386"]).pk, kernel)
    assert boots_kernel(HostFactory(architectures=None).pk, kernel)
