"""The two ways in which a verb fails. Their texts may be shown to customers."""


class Failed(Exception):
    """The host cannot do this now, but may do so later."""


class Refused(Failed):
    """The host will never do this: trying again is pointless."""
