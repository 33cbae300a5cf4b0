"""The required strength of root passwords, and generated passwords."""

from compute.services.common.password_strength import MAX_SCORE, is_strong, make_password, score


def test_a_made_password_has_the_highest_score_and_is_made_once():
    made = {make_password() for _ in range(20)}
    assert len(made) == 20
    assert all(score(password) == MAX_SCORE and is_strong(password) for password in made)


def test_a_weak_password_has_a_low_score():
    assert score("password1") < 2
    assert not is_strong("password1")
