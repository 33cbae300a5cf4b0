"""The base classes of the pages of one instance: who sees the instance, and who may change it."""

from functools import cached_property
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.views.generic.base import ContextMixin

from accounts.pages.base import AccountPage
from compute.models import Instance


class InstancePage(ContextMixin, AccountPage):
    """A page of one instance that the user may see; others are answered 404.

    A page with `operations` changes the instance. It answers 403 to users who may only read the instance.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated and self.operations and not self.may_change:
            raise PermissionDenied
        return super().dispatch(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Instance]:
        return Instance.objects.visible_to(self.actor).select_related("region", "type", "image", "host")

    @cached_property
    def instance(self) -> Instance:
        found = self.get_queryset().filter(pk=self.kwargs["pk"]).first()
        if found is None:
            raise Http404
        return found

    @cached_property
    def may_change(self) -> bool:
        """Whether the user may change the instance, and not only read it. One query if the user is restricted."""
        if not self.actor.restricted:
            return self.instance is not None
        return Instance.objects.writable_by(self.actor).filter(pk=self.instance.pk).exists()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(instance=self.instance, may_change=self.may_change, **kwargs)
