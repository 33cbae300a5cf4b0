"""The format of times in the admin: UTC, to the second, sortable, as in logs and in the API."""

DATETIME_FORMAT = "Y-m-d H:i:s"
DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i:s"
