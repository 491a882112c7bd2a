"""What guests/counts/plugin.c wrote, read."""
import sys

ZERO = (0, 0, 0)


def read(path):
    """The marks in their order: number, and by name instructions, loads and stores so far."""
    marks = []
    with open(path) as file:
        for line in file:
            first, *rest = line.split()
            if first == "mark":
                marks.append((int(rest[0]), {}))
            else:
                # Two functions of one name in one file are one.
                before = marks[-1][1].get(first, ZERO)
                marks[-1][1][first] = tuple(a + int(b) for a, b in zip(before, rest))
    return marks


def since(before, after):
    """What was counted between two marks, or what one span has more than another."""
    names = {**before, **after}
    return {name: tuple(b - a for a, b in zip(before.get(name, ZERO), after.get(name, ZERO))) for name in names}


def check(marks, accesses):
    """What the plugin counts of instructions whose number is known, in `mark check` (mark.c), is that number."""
    numbers = [number for number, _ in marks]
    users = [counts["user"] for _, counts in marks]
    spans = [tuple(b - a for a, b in zip(one, other)) for one, other in zip(users, users[1:])]
    expected = [(90_000, 30_000, 0), (60_000, 0, 20_000), (30_000, 10_000, 10_000)]
    if not accesses:
        expected = [(instructions, 0, 0) for instructions, _, _ in expected]
    near = all(abs(a - b) <= 20 for span, right in zip(spans, expected) for a, b in zip(span, right))
    if numbers != [1, 2, 3, 4] or not near:
        sys.exit(f"counts: the plugin counts {spans} where there are {expected}")


def pairs(path, order, accesses=True):
    """By run of `order`: how much more the run between the marks 6 and 7 has than that between 5 and 6.

    The marks of `mark check` come first, and are checked. False as `accesses`: they were not counted.
    """
    marks = read(path)
    check(marks[:4], accesses)
    marks = marks[4:]
    if [number for number, _ in marks] != [5, 6, 7] * len(order):
        sys.exit(f"counts: {len(marks)} marks of {len(order)} runs")
    runs = {}
    for at, run in enumerate(order):
        begin, middle, end = (counts for _, counts in marks[3 * at : 3 * at + 3])
        runs[tuple(run)] = since(since(begin, middle), since(middle, end))
    return runs
