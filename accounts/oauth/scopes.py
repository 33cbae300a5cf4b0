"""The contract's scopes, as the toolkit asks for them and as the pages say them: of consent, and of new tokens."""

from collections.abc import Sequence

from oauth2_provider.scopes import BaseScopes

from accounts.scopes import ALL, FAMILIES, KNOWN, READ_ONLY, includes

WORDS = {READ_ONLY: "See", "read_write": "See, create, change and delete"}


class ContractScopes(BaseScopes):
    """Every client may ask for every scope; who asks for none gets none."""

    def get_all_scopes(self) -> dict[str, str]:
        return {scope: describe(scope) for scope in sorted(KNOWN)}

    def get_available_scopes(self, application=None, request=None, *args, **kwargs) -> list[str]:
        return sorted(KNOWN)

    def get_default_scopes(self, application=None, request=None, *args, **kwargs) -> list[str]:
        return []


def describe(scope: str) -> str:
    """A known scope in plain words: ``computes:read_only`` is "See compute instances"."""
    if scope == ALL:
        return "Everything: see, create, change and delete all that you can, your account included"
    family, _, level = scope.partition(":")
    return f"{WORDS[level]} {FAMILIES[family]}"


def describe_all(scopes: Sequence[str]) -> list[str]:
    """What `scopes` allow together, leaving out those that another includes."""
    return [
        describe(scope)
        for scope in scopes
        if not any(other != scope and includes([other], [scope]) for other in scopes)
    ]
