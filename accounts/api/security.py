"""How the acting user proves who it is: second factor, security questions, phone, and clients' preferences."""

import orjson
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.models import User
from accounts.services import phone, preferences, second_factor
from accounts.services import security_questions as questions
from config.api.access import ANYONE
from config.api.paths import PathParameters
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet
from config.errors import Invalid

LONGEST_PREFERENCES = 65_535
"""Characters of a body with preferences."""


class OwnViewSet(ResourceViewSet[Actor, User]):
    """What is about the acting user alone, and has no ids."""

    @staticmethod
    def objects(actor: Actor, path: PathParameters) -> QuerySet[User]:
        return User.objects.filter(pk=actor.person)

    def own(self) -> User:
        """The acting user's row."""
        return User.objects.get(pk=self.actor.person)


class Secret(Resource):
    secret = CharField(help_text="In base32, for the app.")
    expiry = DateTimeField()


class Code(Resource):
    tfa_code = CharField(max_length=16, help_text="What the app shows.")


class Scratch(Resource):
    scratch = CharField(help_text="Works once in place of a code, should the app be lost.")


class SecondFactorViewSet(OwnViewSet):
    """Two-factor authentication of the acting user."""

    resource = Secret
    requests = {"confirm": Code}
    responses = {"enable": Secret, "confirm": Scratch}
    scopes = {"enable": WRITE, "confirm": WRITE, "disable": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    def enable(self, request: Request) -> JSONResponse:
        """Make a secret for an app. It counts once a code of the app confirms it."""
        secret, expiry = second_factor.begin(self.actor)
        return JSONResponse({"secret": secret, "expiry": expiry.replace(tzinfo=None)})

    def confirm(self, request: Request) -> JSONResponse:
        """Turn two-factor authentication on, with a code of the app."""
        return JSONResponse({"scratch": second_factor.confirm(self.actor, self.validated()["tfa_code"])})

    def disable(self, request: Request) -> JSONResponse:
        """Turn two-factor authentication off."""
        second_factor.disable(self.actor, self.own())
        return JSONResponse()


class Question(Resource):
    id = IntegerField()
    question = CharField()
    response = CharField(
        min_length=3, max_length=17, allow_null=True, help_text="Null: not answered. Answers are never shown."
    )

    class Meta:
        read_only = True


class Questions(Resource):
    security_questions = Question(many=True, read_only=True)


class AnswerResource(Resource):
    question_id = IntegerField()
    response = CharField(min_length=3, max_length=17)
    security_question = CharField(read_only=True)


class Answers(Resource):
    security_questions = AnswerResource(many=True)


class SecurityQuestionViewSet(OwnViewSet):
    """Questions whose answers prove who the acting user is. Three of them are answered at a time."""

    resource = Questions
    requests = {"answer_all": Answers}
    responses = {"show": Questions, "answer_all": Answers}
    scopes = {"show": READ, "answer_all": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    def show(self, request: Request) -> JSONResponse:
        """List the questions, and which of them are answered."""
        answered = questions.answered(self.actor)
        rows = [
            {"id": key, "question": question, "response": questions.HIDDEN if key in answered else None}
            for key, question in questions.QUESTIONS.items()
        ]
        return JSONResponse({"security_questions": rows})

    def answer_all(self, request: Request) -> JSONResponse:
        """Answer three questions. What was answered before is forgotten."""
        given = self.validated()["security_questions"]
        questions.answer(self.actor, [questions.Answer(**each) for each in given])
        rows = [
            {**each, "security_question": questions.QUESTIONS[each["question_id"]], "response": questions.HIDDEN}
            for each in given
        ]
        return JSONResponse({"security_questions": rows})


class PhoneNumber(Resource):
    iso_code = CharField(min_length=2, max_length=2, help_text="The country's two letters.")
    phone_number = CharField(max_length=32)


class OneTimeCode(Resource):
    otp_code = CharField(max_length=16)


class PhoneViewSet(OwnViewSet):
    """The acting user's phone number."""

    resource = PhoneNumber
    requests = {"send": PhoneNumber, "verify": OneTimeCode}
    scopes = {"send": WRITE, "verify": WRITE, "remove": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    def send(self, request: Request) -> JSONResponse:
        """Send a code to a number. It is valid for 10 minutes, and sent again unchanged while it is."""
        given = self.validated()
        phone.send_code(self.actor, given["iso_code"], given["phone_number"])
        return JSONResponse()

    def verify(self, request: Request) -> JSONResponse:
        """Verify the number that a code was sent to."""
        phone.verify(self.actor, self.validated()["otp_code"])
        return JSONResponse()

    def remove(self, request: Request) -> JSONResponse:
        """Give the verified number up."""
        phone.forget(self.actor)
        return JSONResponse()


OBJECT = {"application/json": {"type": "object"}}


class PreferencesViewSet(OwnViewSet):
    """A JSON object that each OAuth client keeps for each user; personal access tokens share one."""

    resource = Resource
    scopes = {"show": READ, "replace": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    def show(self, request: Request) -> JSONResponse:
        """The preferences that the calling client keeps for the acting user."""
        return JSONResponse(orjson.Fragment(preferences.read(self.actor)))

    @extend_schema(request=OBJECT)
    def replace(self, request: Request) -> JSONResponse:
        """Replace all preferences of the calling client for the acting user."""
        # read before the parser does, so that it is still there to be measured
        body = request.body
        given = request.data
        if len(body.decode("utf-8", "replace")) > LONGEST_PREFERENCES:
            raise Invalid(f"Preferences must be at most {LONGEST_PREFERENCES} characters")
        try:
            stored = orjson.dumps(given)
        except TypeError as error:
            # it reads what is nested a thousand levels deep, and writes a quarter of that
            raise Invalid("Preferences are nested too deeply") from error
        preferences.write(self.actor, stored.decode())
        return JSONResponse(orjson.Fragment(stored))
