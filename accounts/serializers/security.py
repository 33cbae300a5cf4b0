"""Serializers of the second factor, security questions and the phone."""

from rest_framework.exceptions import ValidationError
from rest_framework.serializers import CharField, DateTimeField, IntegerField

from accounts.services import security_questions as questions
from config.api.reasons import not_valid
from config.api.serializers import Resource


class Secret(Resource):
    """The secret of a second factor."""

    secret = CharField(
        help_text="The secret in base32. The user types it into an authenticator app, or scans it as a QR code."
    )
    expiry = DateTimeField(help_text="The time until which the secret can be confirmed, in UTC.")


class Code(Resource):
    """A code of a second factor."""

    tfa_code = CharField(
        max_length=16, help_text="The current six digits of the authenticator app, or a scratch code."
    )


class Scratch(Resource):
    """The scratch code, which replaces a code if the app is lost."""

    scratch = CharField(
        help_text="A code that works once, if the authenticator app is lost. It is not shown again."
    )


class Question(Resource):
    """A security question."""

    id = IntegerField(help_text="The number of the question.")
    question = CharField(help_text="The text of the question.")
    response = CharField(
        min_length=3,
        max_length=17,
        allow_null=True,
        help_text="Always null, because answers are never shown.",
    )

    class Meta:
        read_only = True


class Questions(Resource):
    """The security questions."""

    security_questions = Question(many=True, read_only=True, help_text="All questions.")


class AnswerResource(Resource):
    """An answer to a security question."""

    question_id = IntegerField(help_text="The question's number.")
    response = CharField(min_length=3, max_length=17, help_text="The answer, 3 to 17 characters.")
    security_question = CharField(read_only=True, help_text="The text of the question.")

    def validate_question_id(self, value: int) -> int:
        """Check the id together with the format of all items: if one item fails, the service sees none of the
        list.
        """
        if value not in questions.QUESTIONS:
            raise ValidationError([not_valid("question_id")])
        return value

    def validate_response(self, value: str) -> str:
        if not questions.is_answer(value):
            raise ValidationError([not_valid("response")])
        return value


class Answers(Resource):
    """Answers to three security questions."""

    security_questions = AnswerResource(many=True, help_text="Three different questions with their answers.")


class PhoneNumber(Resource):
    """A telephone number."""

    iso_code = CharField(
        min_length=2,
        max_length=2,
        help_text="The country of the number, as two letters of ISO 3166.",
    )
    phone_number = CharField(
        max_length=32, help_text="The telephone number, with or without the code of the country."
    )


class OneTimeCode(Resource):
    """A code that was sent to a phone."""

    otp_code = CharField(max_length=16, help_text="The six digits of the code.")
