#!/usr/bin/env python3
"""Makes expected.json: what SciPy, NumPy and statsmodels say of the data that the tests use.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install scipy statsmodels
    /tmp/venv/bin/python crates/lab/src/statistics/tests/expected.py
"""
import json
import math
import pathlib

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import gammaln
from statsmodels.stats.multitest import multipletests

# Ten replicates of IOPS as a paper would have them, of one completion mode each, samples of unlike
# sizes and spreads, and a few that tests trip over.
rng = np.random.default_rng(22)
SAMPLES = {
    "classic": rng.normal(120_470, 400, 10).round(1).tolist(),
    "hybrid": rng.normal(113_846, 900, 10).round(1).tolist(),
    "interrupt": rng.normal(96_722, 150, 10).round(1).tolist(),
    "close": rng.normal(113_900, 900, 7).round(1).tolist(),
    "few": [8.1, 8.5, 10.1],
    "two": [1.0, 1.5],
    "wide": rng.lognormal(2.0, 1.0, 40).round(4).tolist(),
    "tiny": [4.1e-6, 4.3e-6, 4.0e-6, 4.4e-6],
}
PAIRS = [
    ("classic", "hybrid"),
    ("hybrid", "close"),
    ("interrupt", "classic"),
    ("few", "two"),
    ("wide", "few"),
    ("tiny", "tiny"),
]
QUANTILES = [0.0, 0.05, 0.25, 0.5, 0.9, 0.99, 1.0]


def summary(values):
    n = len(values)
    low, high = stats.t.interval(0.95, n - 1, np.mean(values), stats.sem(values))
    return {
        "values": values,
        "mean": np.mean(values),
        "low": low,
        "high": high,
        "median": np.median(values),
        "deviation": np.std(values, ddof=1),
        "quantiles": [[q, np.quantile(values, q, method="median_unbiased")] for q in QUANTILES],
    }


def hedges(a, b):
    freedom = len(a) + len(b) - 2
    pooled = ((len(a) - 1) * np.var(a, ddof=1) + (len(b) - 1) * np.var(b, ddof=1)) / freedom
    small = math.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / math.sqrt(freedom / 2)
    return (np.mean(a) - np.mean(b)) / math.sqrt(pooled) * small


def ratio(a, b, equal):
    """The ratio of means, and that from which on the test finds a difference, on either side; None: it finds none."""
    middle = np.mean(a) / np.mean(b)
    above = lambda r: stats.ttest_ind(a, np.array(b) * r, equal_var=equal).pvalue - 0.05
    end = lambda far: brentq(above, middle, far, xtol=1e-300, rtol=1e-14) if above(far) < 0 else None
    return [middle, end(0.0), end(middle * 2**20)]


def test(names, equal):
    a, b = (SAMPLES[name] for name in names)
    found = stats.ttest_ind(a, b, equal_var=equal)
    interval = found.confidence_interval(0.95)
    return {
        "a": names[0],
        "b": names[1],
        "t": found.statistic,
        "freedom": found.df,
        "p": found.pvalue,
        "low": interval.low,
        "high": interval.high,
        "effect": hedges(a, b),
        "ratio": ratio(a, b, equal),
    }


def fit(points):
    x, y = np.array(points).T
    square, linear, constant = np.polyfit(x, y, 2)
    left = y - np.polyval([square, linear, constant], x)
    r2 = 1 - (left**2).sum() / ((y - y.mean()) ** 2).sum()
    return {"points": points, "constant": constant, "linear": linear, "square": square, "r2": r2}


def bootstrap(name, q):
    figure = lambda s, axis: np.quantile(s, q, axis=axis, method="median_unbiased")
    found = stats.bootstrap(
        (SAMPLES[name],), figure, n_resamples=200_000, method="percentile", rng=20
    ).confidence_interval
    return {"sample": name, "q": q, "low": found.low, "high": found.high}


P = [0.001, 0.04, 0.03, 0.005, 0.5, 0.04, 0.0001, 0.9]
x = np.linspace(0, 1, 12)
y = (0.3 + 0.9 * x - 0.25 * x**2 + rng.normal(0, 0.02, 12)).round(4)

out = {
    "summaries": {name: summary(values) for name, values in SAMPLES.items()},
    "student": [test(pair, True) for pair in PAIRS],
    "welch": [test(pair, False) for pair in PAIRS],
    "t_quantiles": [[f, stats.t.ppf(0.975, f)] for f in [1, 2, 3.7, 9, 18, 30, 120, 5000]],
    "p": P,
    "holm": multipletests(P, method="holm")[1].tolist(),
    "benjamini_hochberg": multipletests(P, method="fdr_bh")[1].tolist(),
    "fits": [
        fit([list(p) for p in zip(x.round(4).tolist(), y.tolist())]),
        fit([[1000 + 10 * i, 30.0 + 0.02 * i * i] for i in range(6)]),
        fit([[8.0, 1.0], [8.0, 2.0], [9.0, 5.0], [12.0, 3.0]]),
    ],
    "bootstraps": [bootstrap("wide", 0.5), bootstrap("wide", 0.9), bootstrap("classic", 0.5)],
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(out, indent=1, default=float) + "\n")
