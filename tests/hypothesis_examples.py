"""The number of examples that a property is tested on."""

from hypothesis import settings


def examples(number, **other):
    """Return settings with this number: a fifth in the quick profile, ten times in the long one."""
    most = settings().max_examples
    usual = settings.get_profile("default").max_examples
    if most < usual:
        number = min(most, -(-number // 5))
    elif most > usual:
        number = 10 * number
    return settings(max_examples=number, **other)
