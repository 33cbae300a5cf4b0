"""What all pages of users have in common."""

from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View

# No form-action: browsers hold it against redirects too, and consent ends with one to the client.
POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"


class Page(View):
    """A page that holds what is one user's: kept by no cache, shown in no frame, without scripts."""

    @method_decorator(never_cache)
    def dispatch(self, request, *args, **kwargs):
        response = super().dispatch(request, *args, **kwargs)
        response["Content-Security-Policy"] = POLICY
        return response
