"""The configuration profile that an instance boots."""

from compute.models import Config, Instance
from config.errors import Invalid


def boot_config(instance: Instance, config_id: int | None = None) -> Config:
    """Return the profile to boot: the requested one, else the last booted one, else the only one.

    A rescue's profile is booted only if `config_id` names it: other boots end the rescue. Raises `Invalid`: on
    ``config_id`` if it is not a profile of this instance, without a field if no profile can be determined.
    """
    configs = {config.pk: config for config in instance.configs.all()}
    if config_id is not None:
        if config_id not in configs:
            raise Invalid("config_id is not valid", "config_id")
        return configs[config_id]
    configs = {pk: config for pk, config in configs.items() if not config.rescue}
    if instance.booted_config_id in configs:
        return configs[instance.booted_config_id]
    if len(configs) == 1:
        return next(iter(configs.values()))
    if not configs:
        raise Invalid("This compute has no configuration profile to boot.")
    raise Invalid("This compute has several configuration profiles: name one with config_id.")
