"""How the acting user proves who it is: second factor, security questions, phone, and clients' preferences."""

import orjson
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.actors import Actor
from accounts.api.scopes import READ, WRITE
from accounts.models import User
from accounts.services import phone, preferences, second_factor
from accounts.services import security_questions as questions
from config.api.access import ANYONE
from config.api.parsers import object_as_sent
from config.api.paths import PathParameters
from config.api.reasons import not_valid
from config.api.responses import JSONResponse
from config.api.serializers import Resource
from config.api.views import ResourceViewSet, expensive

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
    """The secret of a second factor."""

    secret = CharField(help_text="The secret in base32, to be typed into an app or shown to it as a QR code.")
    expiry = DateTimeField(help_text="Until when it can be confirmed, in UTC.")


class Code(Resource):
    """A code of a second factor."""

    tfa_code = CharField(max_length=16, help_text="The six digits that the app shows now, or a scratch code.")


class Scratch(Resource):
    """The code for when the app is lost."""

    scratch = CharField(
        help_text="A code that works once in place of one of the app, should that be lost. It is not shown again."
    )


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
        """Turn two-factor authentication on, with a code of the app.

        The answer alone shows the scratch code. A code works once.
        """
        given = self.body()
        scratch = second_factor.confirm(self.actor, given.get("tfa_code"), given.problems)
        return JSONResponse({"scratch": scratch})

    def disable(self, request: Request) -> JSONResponse:
        """Turn two-factor authentication off.

        The secret is dropped.
        """
        second_factor.disable(self.actor, self.own())
        return JSONResponse()


class Question(Resource):
    """A security question."""

    id = IntegerField(help_text="The number of the question.")
    question = CharField(help_text="The question itself.")
    response = CharField(
        min_length=3,
        max_length=17,
        allow_null=True,
        help_text="Always null in place of the answer: answers are never shown.",
    )

    class Meta:
        read_only = True


class Questions(Resource):
    """The security questions."""

    security_questions = Question(many=True, read_only=True, help_text="All questions there are.")


class AnswerResource(Resource):
    """An answer to a security question."""

    question_id = IntegerField(help_text="The question's number.")
    response = CharField(min_length=3, max_length=17, help_text="The answer, 3 to 17 characters.")
    security_question = CharField(read_only=True, help_text="The question itself.")

    def validate_question_id(self, value: int) -> int:
        """Looked at along with the shapes of all items: of a list with a failing one the service sees nothing."""
        if value not in questions.QUESTIONS:
            raise ValidationError([not_valid("question_id")])
        return value

    def validate_response(self, value: str) -> str:
        if not questions.is_answer(value):
            raise ValidationError([not_valid("response")])
        return value


class Answers(Resource):
    """Answers to three security questions."""

    security_questions = AnswerResource(many=True, help_text="Three questions with their answers, all different.")


class SecurityQuestionViewSet(OwnViewSet):
    """Questions whose answers prove who the acting user is. Three of them are answered at a time."""

    resource = Questions
    requests = {"answer_all": Answers}
    responses = {"show": Questions, "answer_all": Answers}
    operations = {"answer_all": "answer"}
    throttle = {"answer_all": "security_questions"}
    lanes = {"answer_all": "passwords"}
    scopes = {"show": READ, "answer_all": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    def show(self, request: Request) -> JSONResponse:
        """List the questions, and which of them are answered.

        Answers are never shown.
        """
        answered = questions.answered(self.actor)
        rows = [
            {"id": key, "question": question, "response": questions.HIDDEN if key in answered else None}
            for key, question in questions.QUESTIONS.items()
        ]
        return JSONResponse({"security_questions": rows})

    @expensive
    def answer_all(self, request: Request) -> JSONResponse:
        """Answer three questions. What was answered before is forgotten."""
        body = self.body()
        given = body.get("security_questions", ())
        questions.answer(self.actor, [questions.Answer(**each) for each in given], body.problems)
        rows = [
            {**each, "security_question": questions.QUESTIONS[each["question_id"]], "response": questions.HIDDEN}
            for each in given
        ]
        return JSONResponse({"security_questions": rows})


class PhoneNumber(Resource):
    """A telephone number."""

    iso_code = CharField(
        min_length=2,
        max_length=2,
        help_text="The country that the number belongs to, as the two letters of ISO 3166.",
    )
    phone_number = CharField(max_length=32, help_text="The number, with or without the country's code.")


class OneTimeCode(Resource):
    """A code that was sent to a phone."""

    otp_code = CharField(max_length=16, help_text="The six digits that were sent.")


class PhoneViewSet(OwnViewSet):
    """The acting user's phone number."""

    resource = PhoneNumber
    requests = {"send": PhoneNumber, "verify": OneTimeCode}
    operations = {"send": "send"}
    scopes = {"send": WRITE, "verify": WRITE, "remove": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    def send(self, request: Request) -> JSONResponse:
        """Send a code to a number. It is valid for 10 minutes, and sent again unchanged while it is."""
        given = self.body()
        phone.send_code(self.actor, given.get("iso_code"), given.get("phone_number"), given.problems)
        return JSONResponse()

    def verify(self, request: Request) -> JSONResponse:
        """Verify the number that a code was sent to.

        Too many wrong codes are a 429.
        """
        given = self.body()
        phone.verify(self.actor, given.get("otp_code"), given.problems)
        return JSONResponse()

    def remove(self, request: Request) -> JSONResponse:
        """Give the verified number up.

        Where there is none, nothing happens.
        """
        phone.forget(self.actor)
        return JSONResponse()


OBJECT = {"type": "object", "description": "Any JSON object.", "additionalProperties": {}}


class PreferencesViewSet(OwnViewSet):
    """A JSON object that each OAuth client keeps for each user; personal access tokens share one."""

    resource = Resource
    responses = {"show": OBJECT, "replace": OBJECT}
    scopes = {"show": READ, "replace": WRITE}
    grants = dict.fromkeys(scopes, ANYONE)

    def show(self, request: Request) -> JSONResponse:
        """The preferences that the calling client keeps for the acting user.

        An object of the client's own making; empty at first. Personal access tokens share one.
        """
        return JSONResponse(orjson.Fragment(preferences.read(self.actor)))

    @extend_schema(request={"application/json": OBJECT})
    def replace(self, request: Request) -> JSONResponse:
        """Replace all preferences of the calling client for the acting user.

        Any JSON object of up to 65,535 characters; the order of its keys is kept. A number has at most 308 digits.
        """
        sent = object_as_sent(request, LONGEST_PREFERENCES)
        preferences.write(self.actor, sent)
        return JSONResponse(orjson.Fragment(sent))
