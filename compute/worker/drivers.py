"""The driver of this process, chosen by ``settings.DRIVER``."""

from functools import cache

from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string
from psycopg.conninfo import make_conninfo

from compute.drivers.base import Driver


def driver() -> Driver:
    """The configured driver, made once for each database this process works on."""
    # a call and its one reconnect must end before the step they serve is called overdue
    timeout = settings.JOB_DRIVER_TIMEOUT * 2 / 3
    return _driver(settings.DRIVER, _conninfo(), settings.DRIVER_SCALE, timeout)


@cache
def _driver(path: str, conninfo: str, scale: float, timeout: float) -> Driver:
    return import_string(path)(conninfo, scale, timeout)


def _conninfo() -> str:
    """The database of the simulated hypervisor: ours, in a schema of its own, unless another one is configured."""
    if settings.DRIVER_CONNINFO:
        return settings.DRIVER_CONNINFO
    return _own_database(connection.settings_dict["NAME"])


@cache
def _own_database(name: str) -> str:
    params = connection.get_connection_params()
    keep = {key: params[key] for key in ("host", "port", "user", "password") if params.get(key)}
    return make_conninfo(dbname=name, **keep)
