"""The disks of an instance."""

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.serializers import CharField, ChoiceField, IntegerField

from accounts.actors import Actor
from compute.api.instances import READ, WRITE, spec_fields
from compute.api.nested import its_instance
from compute.api.resources import FILESYSTEMS_MEAN, LARGEST, DeployRequest, DiskResource
from compute.filters.disks import DiskFilterSet
from compute.models import Disk
from compute.services.instances import disks, root_passwords
from config.api.access import READ_ONLY, READ_WRITE
from config.api.meanings import Meanings
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet


class DiskCreate(DeployRequest):
    """The body of a new disk: empty, or with `image` deployed from that."""

    size = IntegerField(
        min_value=1,
        max_value=LARGEST,
        help_text="MB; all disks of an instance together have at most their type's `disk`.",
    )
    label = CharField(
        min_length=1,
        max_length=48,
        required=False,
        help_text="A name for it; by default after its image or filesystem.",
    )  # type: ignore[assignment] # mypy looks past `Resource`, which is no direct base
    filesystem = ChoiceField(
        Disk.Filesystem.choices,
        required=False,
        help_text=Meanings("What it is to hold. By default `ext4`.", FILESYSTEMS_MEAN),
    )

    class Meta:
        as_in = (DiskResource,)


class DiskResize(Resource):
    """The body of a resize."""

    size = IntegerField(min_value=1, max_value=LARGEST, help_text="MB: the new size.")


class DiskPassword(Resource):
    """The body of a new password."""

    password = CharField(
        trim_whitespace=False, write_only=True, help_text="The new password of root, strong enough by an estimate."
    )


class DiskViewSet(ResourceViewSet[Actor, Disk]):
    """Disks of an instance."""

    resource = DiskResource
    filterset_class = DiskFilterSet
    requests = {"create": DiskCreate, "resize": DiskResize, "password": DiskPassword}
    responses = {"clone": DiskResource}
    scopes = {
        "list": READ,
        "retrieve": READ,
        "create": WRITE,
        "update": WRITE,
        "destroy": WRITE,
        "clone": WRITE,
        "password": WRITE,
        "resize": WRITE,
    }
    grants = {
        "list": READ_ONLY,
        "retrieve": READ_ONLY,
        "create": READ_WRITE,
        "update": READ_WRITE,
        "destroy": READ_WRITE,
        "clone": READ_WRITE,
        "password": READ_WRITE,
        "resize": READ_WRITE,
    }
    parent = staticmethod(its_instance)
    related = ("instance",)

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[Disk]:
        return Disk.objects.filter(instance__in=its_instance(actor, path).values("pk"))

    def create(self, request: Request, compute_id: int) -> JSONResponse:
        """Add a disk, empty or deployed from an image. It shows `not ready`; follow the event `disk_create`.

        All disks together never take more than the type has. A disk that is deployed from an image has ext4 and
        needs a `root_pass`. No profile names the new disk yet.
        """
        instance, given = self.get_parent(), self.body()
        spec = disks.DiskSpec(**spec_fields(given))
        return self.answer(disks.create(self.actor, instance, spec, given.problems))

    def update(self, request: Request, compute_id: int, id: int) -> JSONResponse:
        """Change label and filesystem. The latter is what the disk is said to hold: nothing is formatted.

        Another `size` resizes the disk, as `resize` does.
        """
        disk, given = self.get_entity(), self.body(partial=True)
        return self.answer(disks.update(self.actor, disk, given, given.problems))

    def destroy(self, request: Request, compute_id: int, id: int) -> JSONResponse:
        """Delete a disk that the instance does not run with. It leaves the profiles that name it.

        Cannot be undone.
        """
        disks.delete(self.actor, self.get_entity())
        return JSONResponse()

    def clone(self, request: Request, compute_id: int, id: int) -> JSONResponse:
        """Copy a disk byte for byte into a new one of the same instance, which needs room for it.

        Follow the event `disk_duplicate`; the new disk is `not ready` until then.
        """
        return self.answer(disks.clone(self.actor, self.get_entity()))

    def password(self, request: Request, compute_id: int, id: int) -> JSONResponse:
        """Set root's password in the system on the disk. The instance has to be off."""
        disk, given = self.get_entity(), self.body()
        root_passwords.reset_on(self.actor, disk, given.get("password"), given.problems)
        return JSONResponse()

    def resize(self, request: Request, compute_id: int, id: int) -> JSONResponse:
        """Give the disk another size. Follow the event `disk_resize`.

        It fails where the instance runs with the disk, and where the files on it need more.
        """
        disk, given = self.get_entity(), self.body()
        disks.resize(self.actor, disk, given.get("size"), given.problems)
        return JSONResponse()
