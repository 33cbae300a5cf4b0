"""Search over the objects that the user may see."""

from typing import Any

from django.views.generic import TemplateView

from accounts.pages.base import AccountPage

MAX_LENGTH = 100


class SearchView(AccountPage, TemplateView):
    """``/home/search?q=words``."""

    template_name = "compute/search.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        words = self.request.GET.get("q", "").replace("\0", "").strip()[:MAX_LENGTH]
        return super().get_context_data(words=words, **kwargs)
