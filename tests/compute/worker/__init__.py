import pytest

pytest.register_assert_rewrite("tests.compute.worker.crashes")
