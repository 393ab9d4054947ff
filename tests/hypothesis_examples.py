"""How many examples a property is tried on."""

from hypothesis import settings


def examples(number, **other):
    """So many; where the profile asks for fewer or more, a fifth of them or ten times as many."""
    most = settings().max_examples
    usual = settings.get_profile("default").max_examples
    if most < usual:
        number = min(most, -(-number // 5))
    elif most > usual:
        number = 10 * number
    return settings(max_examples=number, **other)
