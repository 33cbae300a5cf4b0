"""The settings of an installation whose clock of usage reads its offset from a file."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as APPS

INSTALLED_APPS = [*APPS, "tests.drill.month.apps.MovedClock"]
