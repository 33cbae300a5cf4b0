"""The tasks of staff, by which the first page and the side bar of the admin group their entries."""

from django.db.models import TextChoices


class Task(TextChoices):
    """A group of entries. The order is that of the page."""

    CUSTOMERS = "customers", "Customers"
    MACHINES = "machines", "Machines"
    NETWORK = "network", "Network"
    CATALOGUE = "catalogue", "Catalogue"
    MONITORING = "monitoring", "Managed monitoring"
    RECORDS = "records", "Records"
