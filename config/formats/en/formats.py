"""How the admin writes times: UTC, to the second, sortable, as logs and the API do."""

DATETIME_FORMAT = "Y-m-d H:i:s"
DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i:s"
