"""Ratios of paired runs, for the benches beside this file."""
import math
import statistics

# Student's t for 95 %, two-sided, by the most degrees of freedom that it is for; a little wide in between.
STUDENT = [(2, 4.303), (4, 2.776), (9, 2.262), (14, 2.145), (19, 2.093), (24, 2.064), (math.inf, 2.064)]


def ratio(ones, others):
    """Ratio of `ones` to `others`, pair by pair: (low, ratio, high), the ends of the 95 % interval of the mean of
    logarithms about it."""
    logs = [math.log(one / other) for one, other in zip(ones, others)]
    freedom = len(logs) - 1
    t = next(t for most, t in STUDENT if freedom <= most)
    mean, half = statistics.mean(logs), t * statistics.stdev(logs) / math.sqrt(len(logs))
    return tuple(math.exp(x) for x in (mean - half, mean, mean + half))


def shown(ends):
    """A ratio as a table has it."""
    low, middle, high = ends
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def spread(values):
    """Median of rates with the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.0f} ({low:.0f} to {high:.0f})"
