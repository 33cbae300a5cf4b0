"""The page of a link to a token: a button, and then the token, once."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.models import TokenLink
from accounts.pages.base import Page
from accounts.pages.tokens import shown
from accounts.scopes import describe_all, split_scopes
from accounts.services import token_links
from config.errors import Invalid, Missing
from config.pages.reasons import reason_on_page


class TokenLinkView(Page):
    """``/token/<key>``, open to anyone with the address.

    Only the button uses the link up: programs that open addresses in messages press no button.
    """

    def get(self, request: HttpRequest, key: str) -> HttpResponse:
        return self._page(token_links.link_of(key))

    def post(self, request: HttpRequest, key: str) -> HttpResponse:
        try:
            token, readable = token_links.use_link(key)
        except Missing:
            return self._page(None)
        except Invalid as error:
            return self._page(token_links.link_of(key), problem=" ".join(map(reason_on_page, error.problems)))
        return render(self.request, "accounts/token_made.html", shown(token, readable, handed_over=True))

    def _page(self, link: TokenLink | None, problem: str = "") -> HttpResponse:
        """Return the page before the token is shown. 404 if the link does not exist any more."""
        shown: dict[str, Any] = {"link": link, "problem": problem}
        if link is not None:
            shown["scopes"] = describe_all(split_scopes(link.scopes))
        return render(
            self.request, "accounts/token_link.html", shown, status=404 if link is None else 400 if problem else 200
        )
