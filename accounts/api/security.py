"""Proofs of the acting user's identity (second factor, security questions, phone), and clients' preferences."""

import orjson
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.models import User
from accounts.serializers.security import Answers, Code, OneTimeCode, PhoneNumber, Questions, Scratch, Secret
from accounts.services import phone, preferences, second_factor
from accounts.services import security_questions as questions
from config.api.access import ANYONE
from config.api.operations import operation
from config.api.parsers import object_as_sent
from config.api.serializers import Resource
from config.api.views import GenericViewSet, expensive

MAX_PREFERENCES_LENGTH = 65_535
"""The maximum number of characters of a body with preferences."""


class OwnViewSet(GenericViewSet[Actor, User]):
    """Objects that belong to the acting user alone and have no id."""

    def get_queryset(self) -> QuerySet[User]:
        return User.objects.filter(pk=self.viewer.person)

    def own(self) -> User:
        """Return the acting user's row."""
        return User.objects.get(pk=self.actor.person)


class SecondFactorViewSet(OwnViewSet):
    """Two-factor authentication of the acting user."""

    serializer_class = Secret

    @action(detail=True, methods=["post"], url_path="tfa-enable")
    @operation(WRITE, ANYONE, response=Secret)
    def enable(self, request: Request) -> Response:
        """Create a secret for an authenticator app. It is used once a code of the app confirms it."""
        secret, expiry = second_factor.begin(self.actor)
        return Response({"secret": secret, "expiry": expiry.replace(tzinfo=None)})

    @action(detail=True, methods=["post"], url_path="tfa-enable-confirm")
    @operation(WRITE, ANYONE, request=Code, response=Scratch)
    def confirm(self, request: Request) -> Response:
        """Enable two-factor authentication with a code of the app.

        Only this answer shows the scratch code. A code works once.
        """
        given = self.body()
        scratch = second_factor.confirm(self.actor, given.get("tfa_code"), given.problems)
        return Response({"scratch": scratch})

    @action(detail=True, methods=["post"], url_path="tfa-disable")
    @operation(WRITE, ANYONE)
    def disable(self, request: Request) -> Response:
        """Disable two-factor authentication. The secret is deleted."""
        second_factor.disable(self.actor, self.own())
        return Response({})


class SecurityQuestionViewSet(OwnViewSet):
    """Questions whose answers prove the acting user's identity. Three of them are answered at a time."""

    serializer_class = Questions

    @operation(READ, ANYONE)
    def retrieve(self, request: Request) -> Response:
        """List the questions, and which of them are answered.

        Answers are never shown.
        """
        answered = questions.answered(self.actor)
        rows = [
            {"id": key, "question": question, "response": questions.HIDDEN if key in answered else None}
            for key, question in questions.QUESTIONS.items()
        ]
        return Response({"security_questions": rows})

    @operation(
        WRITE,
        ANYONE,
        request=Answers,
        response=Answers,
        throttle_scope="security_questions",
        lane="passwords",
        noun="answer",
    )
    @expensive
    def create(self, request: Request) -> Response:
        """Answer three questions. Earlier answers are deleted."""
        body = self.body()
        given = body.get("security_questions", ())
        questions.answer(self.actor, [questions.Answer(**each) for each in given], body.problems)
        rows = [
            {**each, "security_question": questions.QUESTIONS[each["question_id"]], "response": questions.HIDDEN}
            for each in given
        ]
        return Response({"security_questions": rows})


class PhoneViewSet(OwnViewSet):
    """The acting user's phone number."""

    serializer_class = PhoneNumber

    @operation(WRITE, ANYONE, response=None, noun="send")
    def create(self, request: Request) -> Response:
        """Send a code to a number. It is valid for 10 minutes. Until it expires, the same code is sent again."""
        given = self.body()
        phone.send_code(self.actor, given.get("iso_code"), given.get("phone_number"), given.problems)
        return Response({})

    @action(detail=True, methods=["post"])
    @operation(WRITE, ANYONE, request=OneTimeCode)
    def verify(self, request: Request) -> Response:
        """Verify the number that a code was sent to. Too many wrong codes answer 429."""
        given = self.body()
        phone.verify(self.actor, given.get("otp_code"), given.problems)
        return Response({})

    @operation(WRITE, ANYONE)
    def destroy(self, request: Request) -> Response:
        """Delete the verified number. If there is none, nothing happens."""
        phone.forget(self.actor)
        return Response({})


OBJECT = {"type": "object", "description": "Any JSON object.", "additionalProperties": {}}


class PreferencesViewSet(OwnViewSet):
    """A JSON object that each OAuth client stores for each user. Personal access tokens share one."""

    serializer_class = Resource

    @operation(READ, ANYONE, response=OBJECT)
    def retrieve(self, request: Request) -> Response:
        """The preferences that the calling client keeps for the acting user.

        The client defines the object, which is empty at first. Personal access tokens share one.
        """
        return Response(orjson.Fragment(preferences.read(self.actor)))

    @operation(WRITE, ANYONE, response=OBJECT, request=None, whole=True)
    @extend_schema(request={"application/json": OBJECT})
    def update(self, request: Request) -> Response:
        """Replace all preferences of the calling client for the acting user.

        The body is any JSON object of up to 65,535 characters. The order of its keys is kept. A number has at most
        308 digits.
        """
        sent = object_as_sent(request, MAX_PREFERENCES_LENGTH)
        preferences.write(self.actor, sent)
        return Response(orjson.Fragment(sent))
