"""The provider's claims about people."""

from oauth2_provider.oauth2_validators import OAuth2Validator

from tests.oidc_provider import subject_of


class Validator(OAuth2Validator):
    """The toolkit's validator with a subject that is not a number, and with names."""

    def get_additional_claims(self):
        return {
            "sub": lambda request: subject_of(request.user.username),
            "preferred_username": lambda request: request.user.username,
            "email": lambda request: request.user.email,
        }
