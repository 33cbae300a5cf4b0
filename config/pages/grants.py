"""The grants of pages, which are those of the API's operations. Pages of apps must not import `config.api`."""

from config.api.access import ACCOUNT_READ, ACCOUNT_WRITE, UNRESTRICTED, granted

__all__ = ["ACCOUNT_READ", "ACCOUNT_WRITE", "UNRESTRICTED", "granted"]
