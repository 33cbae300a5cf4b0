from datetime import timedelta

from django.db import migrations
from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce, Greatest, Now

# As the settings were: a refresh token is good for so long after its access token.
IDLE = timedelta(days=90)
BATCH = 1000


def fill(apps, schema_editor):
    """Until now the end of access was null for clients that can refresh their tokens, and a guess for others."""
    Authorization = apps.get_model("accounts", "Authorization")
    OAuthAccessToken = apps.get_model("accounts", "OAuthAccessToken")
    OAuthRefreshToken = apps.get_model("accounts", "OAuthRefreshToken")
    theirs = {"user": OuterRef("user"), "application": OuterRef("client")}
    access = OAuthAccessToken.objects.filter(**theirs).order_by("-expires")
    refresh = OAuthRefreshToken.objects.filter(
        **theirs, revoked=None, access_token__isnull=False, application__client_type="confidential"
    ).order_by("-access_token__expires")
    ends = Greatest(
        Subquery(access.values("expires")[:1]), Subquery(refresh.values("access_token__expires")[:1]) + IDLE
    )
    keys = list(Authorization.objects.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH):
        rows = Authorization.objects.filter(pk__in=keys[start : start + BATCH])
        rows.update(expiry=Coalesce(ends, Now()))


class Migration(migrations.Migration):
    # a batch at a time: the release before goes on writing these rows
    atomic = False
    dependencies = [("accounts", "0006_personal_tokens_of_apps")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
