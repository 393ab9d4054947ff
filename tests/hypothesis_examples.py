"""How many examples a property is tried on."""

from hypothesis import settings


def examples(number, **other):
    """So many; a fifth of them, and few at most, where the profile asks for few."""
    most = settings().max_examples
    quick = most < settings.get_profile("default").max_examples
    return settings(max_examples=min(most, -(-number // 5)) if quick else number, **other)
