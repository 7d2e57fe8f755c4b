def add(a, b):
    """Return the sum of a and b."""
    return a + b


def reverse(s):
    """Return s reversed."""
    return s[::-1]
