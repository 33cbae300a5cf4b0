"""The paths of managed monitoring."""

from config.api.routers import Router
from managed.api.compute_settings import ComputeSettingsViewSet
from managed.api.contacts import ContactViewSet
from managed.api.credentials import CredentialViewSet, KeyViewSet
from managed.api.issues import IssueViewSet
from managed.api.services import ServiceViewSet
from managed.api.stats import StatsViewSet

router = Router()
router.register("managed/compute-settings", ComputeSettingsViewSet, "compute-settings")
router.register("managed/contacts", ContactViewSet)
router.register("managed/credentials", CredentialViewSet)
router.register_single("managed/credentials/sshkey", KeyViewSet, "managed-key")
router.register("managed/issues", IssueViewSet)
router.register("managed/services", ServiceViewSet)
router.register_single("managed/stats", StatsViewSet, "managed-stats")

urlpatterns = router.urls
