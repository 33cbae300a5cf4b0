"""Answering the three security questions."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.views import RedirectURLMixin
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.generic import FormView

from accounts.pages.base import Page, ProfilePage, actor_of, signed_in
from accounts.pages.confirm import Confirmed
from accounts.services import second_factor
from accounts.services import security_questions as questions
from config.errors import Invalid
from config.pages.forms import add_problems

MIN_ANSWER_LENGTH, MAX_ANSWER_LENGTH = 3, 17
"""The minimum and the maximum number of characters of an answer."""
NUMBERS = range(questions.ANSWERED_AT_A_TIME)


class QuestionsForm(forms.Form):
    """Three questions, each with an answer: ``question_0`` and ``response_0`` and so on."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for number in NUMBERS:
            self.fields[f"question_{number}"] = forms.TypedChoiceField(
                label=f"Question {number + 1}", choices=list(questions.QUESTIONS.items()), coerce=int
            )
            self.fields[f"response_{number}"] = forms.CharField(
                label=f"Answer {number + 1}", min_length=MIN_ANSWER_LENGTH, max_length=MAX_ANSWER_LENGTH,
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )  # fmt: skip

    def answers(self) -> list[questions.Answer]:
        given = self.cleaned_data
        return [questions.Answer(given[f"question_{number}"], given[f"response_{number}"]) for number in NUMBERS]


FIELDS = {
    f"security_questions[{number}].{theirs}": f"{ours}_{number}"
    for number in NUMBERS
    for theirs, ours in (("question_id", "question"), ("response", "response"))
}
"""The form's field names, by the names of the service's fields."""


class SecurityQuestionsView(Page, Confirmed, RedirectURLMixin, ProfilePage, FormView):
    """``/home/security-questions``: continues at ``next``, or else at the page of the sign-in."""

    operations = frozenset({"profile_security_questions_answer", "profile_tfa_enable"})
    template_name = "components/form_page.html"
    texts = {
        "heading": "Security questions",
        "introduction": "Support asks these questions to check that it is you who calls. The second factor needs "
        "them too. Only hashes of the answers are stored. New answers replace all earlier answers.",
        "verb": "Save answers",
    }
    lanes = {"post": "passwords"}
    form_class = QuestionsForm
    next_page = topic = "profile-sign-in"

    def get_initial(self) -> dict[str, Any]:
        """Return the questions that the user has answered, or else the first ones. Answers are never shown."""
        answered = sorted(questions.answered(actor_of(signed_in(self.request))))
        chosen = answered if len(answered) == len(NUMBERS) else list(questions.QUESTIONS)
        return {f"question_{number}": chosen[number] for number in NUMBERS}

    def form_valid(self, form: QuestionsForm) -> HttpResponse:
        try:
            questions.answer(actor_of(signed_in(self.request)), form.answers())
        except Invalid as error:
            add_problems(form, error, FIELDS)
            return self.form_invalid(form)
        messages.success(self.request, "Your answers were saved.")
        following = self.get_success_url()
        if following == reverse("second-factor"):  # its page asked for the answers, and now shows the picture
            second_factor.begin(actor_of(signed_in(self.request)))
        return HttpResponseRedirect(following)
