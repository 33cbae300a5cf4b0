"""The permissions of staff roles on managed services.

The permission to read customers' secrets is given to single users.
"""

from config.admin.roles import OPERATOR, SUPPORT, allow
from managed.models import Service

allow(SUPPORT, Service, to="change")
allow(OPERATOR, Service, to="change")
