"""The fields that a deployment script declares, and the values that it gets."""

import os
import subprocess
import time

import pytest

from accounts.actors import Actor
from compute.models import StackScript
from compute.services.stackscripts.fields import read_fields, read_values
from compute.services.stackscripts.includes import include
from compute.services.stackscripts.stackscripts import ANY, PLACE, count_deployment, resolve
from config.errors import Problems
from tests.factories import GrantFactory, StackScriptFactory

NASTY = 'it\'s $(touch /tmp/x) `id` "quoted"\nEOF\n; \\ é'


def fields_of(script: str) -> list[dict[str, str]]:
    problems = Problems()
    fields = read_fields(script, problems)
    assert not problems, found(problems)
    return fields


def found(problems: Problems) -> dict[str | None, str]:
    return {problem.field: problem.reason for problem in problems._found}


def wrong_with(script: str) -> str:
    problems = Problems()
    read_fields(script, problems)
    assert set(found(problems)) == {"script"}
    return found(problems)["script"]


# --- reading tags ----------------------------------------------------------------------------------------


def test_fields_are_read_in_order_wherever_they_stand():
    assert fields_of(
        "#!/bin/sh\n"
        '# <UDF name="motd" label="Message of the day" default="" />\n'
        "<udf NAME='role' Label='What \"it\" is' ONEOF='web, db' example='web'>\n"
        '#   <UDF name="parts"\n'
        '#        label="Parts = all"\n'
        '#        header="ignored" manyof="a,b,c"/>\n'
        "echo '<b>'\n"
    ) == [
        {"name": "motd", "label": "Message of the day", "default": "", "example": ""},
        {"name": "role", "label": 'What "it" is', "oneOf": "web, db", "example": "web"},
        {"name": "parts", "label": "Parts = all", "manyOf": "a,b,c", "example": ""},
    ]


def test_a_script_may_ask_for_nothing():
    assert fields_of("") == fields_of("#!/bin/sh\necho <udfs>") == []


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ('<UDF label="x"/>', "has no name"),
        ('<UDF name="x"/>', "has no label"),
        ('<UDF name="x" label=" "/>', "has no label"),
        ('<UDF name="1x" label="x"/>', "has a name that is not"),
        ('<UDF name="a-b" label="x"/>', "has a name that is not"),
        ('<UDF name="a;id" label="x"/>', "has a name that is not"),
        ('<UDF name="é" label="x"/>', "has a name that is not"),
        (f'<UDF name="{"x" * 65}" label="x"/>', "has a name that is not"),
        ('<UDF name="ok" label="x"/><UDF name="OK" label="y"/>', "repeats the name"),
        ('<UDF name="x" label="x"', "is not well formed"),
        ('<UDF name="x" label="x/>\n', "is not well formed"),
        ('<UDF name="x" label="x"\n# <UDF name="y" label="y"/>', "is not well formed"),
        ('<UDF name="x" label="x"\nname="y"\necho > z', "is not well formed"),
        ('<UDF name="x" = label="x"/>', "is not well formed"),
        ('<UDF name="x" label="x" oneOf=" , "/>', "has an empty oneOf"),
        ('<UDF name="x" label="x" oneOf="a" manyOf="b"/>', "has both"),
    ],
)
def test_broken_tags_are_refused_by_their_line(tag, reason):
    message = wrong_with(f"#!/bin/sh\n\n# {tag}")
    assert message.startswith("The UDF tag on line 3 ")
    assert reason in message


@pytest.mark.parametrize(
    ("tag", "field"),
    [
        (
            '<UDF name="rounds" label="Rounds" oneOf="1,5,10"default="10" />',
            {"name": "rounds", "label": "Rounds", "oneOf": "1,5,10", "default": "10"},
        ),
        (
            '<udf name="epel" label="Add it?" oneOf="Yes,No", default="Yes" />',
            {"name": "epel", "label": "Add it?", "oneOf": "Yes,No", "default": "Yes"},
        ),
        ('<udf name="a",label="A",default="1">', {"name": "a", "label": "A", "default": "1"}),
        (
            '<UDF name="tmo" Label="Timeout" example="180" example="90" />',
            {"name": "tmo", "label": "Timeout", "example": "90"},
        ),
        ('<UDF name="x" name="y" label="A" LABEL="B"/>', {"name": "y", "label": "B"}),
        (
            '<UDF name="lvl" label="Level" oneOf="a,b" default="None">',
            {"name": "lvl", "label": "Level", "oneOf": "a,b"},
        ),
        (
            '<UDF name="set" label="Set" manyOf="a,b" default="a,c">',
            {"name": "set", "label": "Set", "manyOf": "a,b"},
        ),
        ("<UDF name = 'x' label= x default=>", {"name": "x", "label": "x", "default": ""}),
        ("<UDF name=x label=a/b/>", {"name": "x", "label": "a/b"}),
        ('<UDF name="x" label="A" required default />', {"name": "x", "label": "A", "default": ""}),
        ('<UDF name="x" label="a "quoted" word"/>', {"name": "x", "label": "a "}),
        ('<UDF name="x"\r\n#label="of two\n#   lines"\n# />', {"name": "x", "label": "of two lines"}),
    ],
)
def test_tags_are_read_as_leniently_as_browsers_read_attributes(tag, field):
    assert fields_of(f"#!/bin/sh\n# {tag}\necho 'a > b'\n") == [{"example": "", **field}]


def test_a_tag_within_a_value_is_text():
    fields = fields_of('<UDF name="x" label="Put <udf name=y label=z> here" /> <UDF name="y" label="Y" />')
    assert [field["name"] for field in fields] == ["x", "y"]


def test_a_tag_has_a_hundred_attributes_at_most():
    """Without a limit, tags within the values of a tag that has no end take quadratic time."""
    others = " ".join(f"a{number}" for number in range(98))
    assert fields_of(f'<UDF name="x" label="X" {others}>') == [{"name": "x", "label": "X", "example": ""}]
    problems = Problems()
    assert read_fields(f'<UDF name="x" label="X" {others} more>', problems) == []
    assert "is not well formed" in found(problems)["script"]


def test_a_default_that_is_no_choice_has_to_be_chosen():
    problems = Problems()
    read_values(fields_of('<UDF name="lvl" label="Level" oneOf="a,b" default="None">'), {}, problems)
    assert found(problems) == {"stackscript_data.lvl": "stackscript_data.lvl is required"}


def test_hostile_text_is_read_in_no_time():
    began = time.thread_time()  # processor time of this thread alone
    words = "<udf " + "a " * 32_000
    blanks = '<udf a="' + " " * 30_000 + "\n" + " " * 30_000 + '">'
    quotes = "<udf a='" * 8_000
    for text in (
        words,
        blanks,
        quotes,
        "<udf" * 16_000,
        "<udf " + "\n#" * 32_000,
        "<udf " + 'a="' * 20_000,
        "<udf\n" + " \n" * 30_000,
    ):
        read_fields(text, Problems())
    assert time.thread_time() - began < 5


# --- checking values -------------------------------------------------------------------------------------

ASKED = (
    '<UDF name="must" label="x"/> <UDF name="may" label="x" default="else"/>'
    '<UDF name="one" label="x" oneOf="a,b" default="a"/> <UDF name="many" label="x" manyOf="a,b" default=""/>'
)


def values_of(data) -> tuple[dict[str, str], dict[str | None, str]]:
    problems = Problems()
    return read_values(fields_of(ASKED), data, problems), found(problems)


def test_a_missing_field_takes_its_default():
    assert values_of({"must": "x"}) == ({"must": "x", "may": "else", "one": "a", "many": ""}, {})


def test_values_become_texts_and_unknown_fields_are_ignored():
    values, problems = values_of({"must": 5, "may": True, "many": "b, a", "one": "b", "other": ["x"]})
    assert (values, problems) == ({"must": "5", "may": "true", "one": "b", "many": "b, a"}, {})


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        (None, {"stackscript_data.must": "stackscript_data.must is required"}),
        ({"must": None}, {"stackscript_data.must": "stackscript_data.must is required"}),
        ({"must": ""}, {"stackscript_data.must": "stackscript_data.must is required"}),
        ({"must": ["x"]}, {"stackscript_data.must": "stackscript_data.must is not valid"}),
        ({"must": "x", "one": "c"}, {"stackscript_data.one": "stackscript_data.one is not valid"}),
        ({"must": "x", "one": "a,b"}, {"stackscript_data.one": "stackscript_data.one is not valid"}),
        (
            {"many": "a,c", "may": {}},
            {
                "stackscript_data.must": "stackscript_data.must is required",
                "stackscript_data.may": "stackscript_data.may is not valid",
                "stackscript_data.many": "stackscript_data.many is not valid",
            },
        ),
        ({"must": "x" * 65_536}, {"stackscript_data": "Length must be at most 65535 characters"}),
    ],
)
def test_invalid_values_are_refused_by_name(data, problems):
    assert values_of(data)[1] == problems


# --- deploying -------------------------------------------------------------------------------------------


@pytest.fixture
def actor(owner) -> Actor:
    return Actor(owner.account_id, owner.pk, owner.username)


def resolved(actor, script_id, data=None, image="compute/test11"):
    problems = Problems()
    return resolve(actor, script_id, data, image, problems), found(problems)


@pytest.mark.django_db
class TestDeploying:
    def test_no_script_is_no_deployment(self, actor):
        assert resolved(actor, None, {"x": 1}) == (None, {})

    def test_only_visible_scripts_can_be_deployed(self, actor, restricted, account):
        mine, other, public = (
            StackScriptFactory(account=account),
            StackScriptFactory(),
            StackScriptFactory(is_public=True),
        )
        helper = Actor(account.pk, restricted.pk, restricted.username, restricted=True)
        invalid = {"stackscript_id": "stackscript_id is not valid"}
        assert resolved(actor, other.pk) == resolved(actor, 999_999) == resolved(helper, mine.pk) == (None, invalid)
        assert resolved(actor, mine.pk)[0].script == mine
        assert resolved(helper, public.pk)[0].script == public
        GrantFactory(user=restricted, entity_type="stackscript", entity_id=mine.pk)
        assert resolved(helper, mine.pk)[0].script == mine

    def test_only_on_the_images_it_supports(self, actor, account):
        some = StackScriptFactory(account=account, images=["compute/test11", "private/3"])
        every = StackScriptFactory(account=account, images=[ANY])
        assert resolved(actor, some.pk, image="private/3")[0]
        assert resolved(actor, every.pk, image="private/4")[0]
        assert resolved(actor, some.pk, image="private/4") == (
            None,
            {"image": "The script does not support this image."},
        )
        assert resolved(actor, every.pk, image=None) == (None, {"image": "image is required"})

    def test_all_errors_are_reported_together(self, actor, account):
        script = StackScriptFactory(account=account, script='<UDF name="a" label="x"/><UDF name="b" label="x"/>')
        assert set(resolved(actor, script.pk, {"a": []}, image=None)[1]) == {
            "image", "stackscript_data.a", "stackscript_data.b",
        }  # fmt: skip

    def test_the_text_never_shows(self, actor, account):
        script = StackScriptFactory(account=account, script='<UDF name="key" label="x"/>')
        deployment, _ = resolved(actor, script.pk, {"key": "sesame"})
        assert "sesame" in deployment.text
        assert "sesame" not in repr(deployment)

    def test_deployments_are_counted(self, actor):
        script = StackScriptFactory()
        count_deployment(script)
        count_deployment(script)
        script.refresh_from_db()
        assert script.deployments_total == 2

    @pytest.mark.parametrize("ends", ["\n", "\r\n"])
    @pytest.mark.parametrize("last", ["", "\n"])
    def test_the_script_gets_values_with_any_characters(self, actor, account, tmp_path, ends, last):
        text = '#!/bin/sh\n# <UDF name="motd" label="x"/>\nprintf %s "$MOTD"\ncat <<EOF\n$HOME\nEOF\nexit 7' + last
        script = StackScriptFactory(account=account, script=text.replace("\n", ends))
        deployment, _ = resolved(actor, script.pk, {"motd": NASTY})

        place = tmp_path / "script"
        ran = subprocess.run(
            ["/bin/sh", "-c", deployment.text.replace(PLACE, str(place))],
            capture_output=True, text=True, env={**os.environ, "HOME": "/home/x"}, check=False,
        )  # fmt: skip

        assert (ran.stdout, ran.stderr, ran.returncode) == (f"{NASTY}/home/x\n", "", 7)
        assert place.stat().st_mode & 0o777 == 0o700
        assert place.read_text().rstrip("\n") == text.rstrip("\n")

    def test_a_script_in_another_language_runs_too(self, actor, account, tmp_path):
        script = StackScriptFactory(
            account=account,
            script='#!/usr/bin/env python3\n# <UDF name="who" label="x" default="you"/>\n'
            "import os\nprint(os.environ['WHO'])",
        )
        deployment, _ = resolved(actor, script.pk)
        text = deployment.text.replace(PLACE, str(tmp_path / "script"))
        assert subprocess.run(["/bin/sh", "-c", text], capture_output=True, check=True).stdout == b"you\n"


# --- including others ------------------------------------------------------------------------------------

INCLUDED = "/root/ssinclude-"
NEVER = 999_999_999


def tag(script_id: int) -> str:
    return f'<ssinclude StackScriptID="{script_id}">'


def ran(deployment, folder) -> str:
    """Return the output of the first boot, with its files in another folder than root's home."""
    text = deployment.text.replace(PLACE, str(folder / "script")).replace(INCLUDED, str(folder / "ssinclude-"))
    done = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.django_db
class TestIncluding:
    def test_a_command_gets_a_file_with_the_included_script(self, actor, account, tmp_path):
        inner = StackScriptFactory(script="greet() { echo $1 $WHO; }\r\n# it's <END>\r\n", is_public=True)
        outer = StackScriptFactory(account=account, script=f". {tag(inner.pk)}\ngreet bye\n")
        text = f"#!/bin/sh\n# <UDF name='who' label='x'/>\n. {tag(inner.pk)} && . {tag(outer.pk)}\ngreet hi\n"
        script = StackScriptFactory(account=account, script=text)
        deployment, _ = resolved(actor, script.pk, {"who": "you"})
        assert ran(deployment, tmp_path) == "bye you\nhi you\n"
        assert "<ssinclude" not in deployment.text
        assert (tmp_path / f"ssinclude-{inner.pk}").stat().st_mode & 0o777 == 0o600

    def test_a_tag_alone_on_its_line_becomes_the_text_in_any_language(self, actor, account, tmp_path):
        inner = StackScriptFactory(account=account, script="#!/usr/bin/env python3\ndef greet(): print('hi')\n")
        text = f"#!/usr/bin/env python3\n  <SSInclude stackscriptid = {inner.pk} />\t\ngreet()\n"
        deployment, _ = resolved(actor, StackScriptFactory(account=account, script=text).pk)
        assert ran(deployment, tmp_path) == "hi\n"

    def test_in_a_comment_it_includes_nothing_that_runs(self, actor, account, tmp_path):
        inner = StackScriptFactory(account=account, script="echo one\necho two\n")
        script = StackScriptFactory(account=account, script=f"#!/bin/sh\n# source {tag(inner.pk)}\necho three\n")
        assert ran(resolved(actor, script.pk)[0], tmp_path) == "three\n"

    def test_an_included_script_without_permission_refuses_the_deployment(self, actor, account, restricted):
        """At any depth. For a restricted user, grants decide about scripts of the account."""
        inner = StackScriptFactory(account=account, script="echo\n")
        middle = StackScriptFactory(account=account, script=f"\n. {tag(inner.pk)}\n", is_public=True)
        outer = StackScriptFactory(account=account, script=f". {tag(middle.pk)}\n", is_public=True)
        assert resolved(actor, outer.pk)[0]
        helper = Actor(account.pk, restricted.pk, restricted.username, restricted=True)
        reason = (
            f"The ssinclude tag on line 2 of script {middle.pk} names script {inner.pk}, which does not exist or "
            "which you may not use."
        )
        assert resolved(helper, outer.pk) == (None, {"stackscript_id": reason})
        GrantFactory(user=restricted, entity_type="stackscript", entity_id=inner.pk)
        assert resolved(helper, outer.pk)[0]
        inner.delete()
        assert resolved(actor, outer.pk) == (None, {"stackscript_id": reason})

    def test_a_cycle_that_came_about_is_refused(self, actor, account):
        first = StackScriptFactory(account=account)
        second = StackScriptFactory(account=account, script=f". {tag(first.pk)}")
        type(first).objects.filter(pk=first.pk).update(script=f"\n. {tag(second.pk)}")
        reason = f"The ssinclude tag on line 1 of script {second.pk} includes script {first.pk} in itself."
        assert resolved(actor, first.pk) == (None, {"stackscript_id": reason})

    @pytest.mark.parametrize(("levels", "good"), [(5, True), (6, False)])
    def test_the_depth_is_bounded(self, actor, account, levels, good):
        script = StackScriptFactory(account=account)
        for _ in range(levels):
            script = StackScriptFactory(account=account, script=f". {tag(script.pk)}")
        deployment, problems = resolved(actor, script.pk)
        assert bool(deployment) is good
        reason = "Scripts can include other scripts at most 5 levels deep."
        assert problems == ({} if good else {"stackscript_id": reason})

    @pytest.mark.parametrize(("number", "good"), [(20, True), (21, False)])
    def test_the_number_is_bounded(self, actor, account, number, good):
        inner = StackScriptFactory.create_batch(number, account=account)
        script = StackScriptFactory(account=account, script="\n".join(tag(each.pk) for each in inner))
        deployment, problems = resolved(actor, script.pk)
        assert bool(deployment) is good
        assert problems.keys() == (set() if good else {"stackscript_id"})

    @pytest.mark.parametrize("line", ["{}\n", ". {}\n"])
    def test_the_length_is_bounded(self, actor, account, line):
        """A text counts as often as it is included. A file counts once."""
        inner = StackScriptFactory(account=account, script="x" * 65_000)
        many = StackScriptFactory(account=account, script=line.format(tag(inner.pk)) * 100)
        large = StackScriptFactory(
            account=account,
            script="".join(
                line.format(tag(each.pk))
                for each in StackScriptFactory.create_batch(4, account=account, script="x" * 65_500)
            )
            + "x" * 1_000,
        )
        reason = "A script can have at most 262144 characters, including the scripts that it includes."
        too_long = {"stackscript_id": reason}
        assert resolved(actor, large.pk) == (None, too_long)
        assert resolved(actor, many.pk)[1] == (too_long if line == "{}\n" else {})

    def test_a_tag_within_a_tag_is_none(self, actor, account, tmp_path):
        inner = StackScriptFactory(account=account, script="echo one\n")
        text = f"#!/bin/sh\n. <ssinclude note='{tag(NEVER)}' StackScriptID={inner.pk}>\necho two\n"
        deployment, _ = resolved(actor, StackScriptFactory(account=account, script=text).pk)
        assert ran(deployment, tmp_path) == "one\ntwo\n"

    def test_scripts_are_read_in_one_query_for_each_level(self, actor, account, django_assert_num_queries):
        leaves = StackScriptFactory.create_batch(3, account=account)
        middle = StackScriptFactory(account=account, script="".join(f". {tag(each.pk)}\n" for each in leaves))
        script = StackScriptFactory(account=account, script=f". {tag(middle.pk)}\n. {tag(leaves[0].pk)}\n")
        with django_assert_num_queries(3):
            assert resolved(actor, script.pk)[0]
        with django_assert_num_queries(1):
            assert resolved(actor, leaves[0].pk)[0]


def test_many_hostile_tags_are_read_in_no_time():
    began = time.thread_time()
    for text in ("<ssinclude" * 6_500, "<ssinclude StackScriptID='1' " * 2_000, "<ssinclude\n" * 5_000):
        with pytest.raises(ValueError, match="not well formed"):
            include(StackScript.objects.none(), None, text)
    with pytest.raises(ValueError, match="at most 100 ssinclude tags"):
        include(StackScript.objects.none(), None, f"x{tag(1)}" * 2_000)
    assert time.thread_time() - began < 5
