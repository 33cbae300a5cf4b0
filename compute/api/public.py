"""The base of views whose lists have public objects and those of the account."""

from accounts.actors import Actor
from config.api.admission import M
from config.api.views import ReadOnlyModelViewSet
from config.errors import Denied


class PublicViewSet(ReadOnlyModelViewSet[Actor, M]):
    """Objects that belong to accounts, some of which are public: all callers see these."""

    def own(self) -> M:
        """Return the object that the path names, for a change. Only its own account may change a public object."""
        found = self.get_object()
        if found.account_id != self.actor.account_id:  # type: ignore[attr-defined] # subclasses' models have it
            raise Denied
        return found
