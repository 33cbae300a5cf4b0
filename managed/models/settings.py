"""The settings with which staff log in to a compute by SSH."""

from django.db import models

from compute.models import Instance


class ComputeSettings(models.Model):
    """The settings that the account chose for one compute. Without a row, the columns' defaults apply."""

    ANY = "any"

    instance = models.OneToOneField(
        Instance, primary_key=True, on_delete=models.CASCADE, related_name="managed_settings"
    )
    access = models.BooleanField(default=True, help_text="Whether staff may log in.")
    user = models.CharField(max_length=32, null=True, blank=True)
    ip = models.CharField(
        max_length=45, default=ANY, help_text="An address of the compute, or any for all addresses."
    )
    port = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "compute settings"

    def __str__(self) -> str:
        return f"SSH settings of {self.instance}"
