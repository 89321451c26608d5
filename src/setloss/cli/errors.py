"""The error of the command line."""


class InputError(Exception):
    """What the user gave cannot be used; the message says why, in one sentence."""
