"""The network transfer of the account."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.timezone import now
from django.views.generic import TemplateView

from accounts.pages.account import OwnAccountPage
from accounts.services import attempts
from compute.services.stats import transfer
from config.errors import TooMany
from config.web.headers import too_many


class TransferView(OwnAccountPage, TemplateView):
    """``/home/account/transfer``: the transfer of this month, which all instances share.

    The sum over the instances counts under the API's limit on expensive calls.
    """

    template_name = "compute/account_transfer.html"
    tab = "account-transfer"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            with attempts.measured_with_api(self.actor.account_id):
                found = transfer.of_account(self.account, now())
        except TooMany as error:
            page = self.render_to_response(self.get_context_data(refusal=str(error)))
            return too_many(page, error.seconds)
        return self.render_to_response(self.get_context_data(transfer=found))
