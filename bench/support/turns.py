"""Turns: who comes first. What one contender leaves behind (warm caches, dirty pages, a busy disk) is another's luck or
bad luck, so nobody has the same place in every round."""


def in_turn(contenders, number):
    """The contenders in the order of this round: each is first, second, … equally often."""
    contenders = list(contenders)
    start = number % len(contenders)
    return contenders[start:] + contenders[:start]
