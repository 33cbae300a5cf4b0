"""What the roles of staff may do to managed services. To read customers' secrets is given to people by name."""

from config.admin.roles import OPERATOR, SUPPORT, allow
from managed.models import Service

allow(SUPPORT, Service, to="change")
allow(OPERATOR, Service, to="change")
