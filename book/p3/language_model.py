"""The smallest language model, which symbol follows which, under record weights."""

import numpy as np
import pandas as pd

import pseudopost as pp

SYMBOLS = 27


def stationary(source):
    """Long-run shares of the symbols of a source, shape (27,)."""
    values, vectors = np.linalg.eig(source.T)
    vector = np.abs(vectors[:, np.argmax(values.real)].real)
    return vector / vector.sum()


def documents(source, n, rng):
    """How often each symbol follows each other one, in simulated documents.

    Parameters
    ----------
    source : ndarray, shape (27, 27)
        Probability of the next symbol, a row for each symbol.
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (n, 27, 27)
        The lengths are skewed: most documents are short, few are long.
    """
    pairs = np.zeros((n, SYMBOLS, SYMBOLS), int)
    at = rng.choice(SYMBOLS, size=n, p=stationary(source))
    lengths = 5 + rng.negative_binomial(2, 0.04, size=n)
    ends = source.cumsum(axis=1)
    for step in range(lengths.max()):
        writing = np.flatnonzero(lengths > step)
        before = at[writing]
        after = (rng.uniform(size=(len(writing), 1)) > ends[before]).sum(axis=1)
        at[writing] = np.minimum(after, SYMBOLS - 1)
        pairs[writing, before, at[writing]] += 1
    return pairs


def fit(pairs, weights, size, rng):
    """Draw from the pseudo posterior under uniform priors, which is a Dirichlet one.

    Returns
    -------
    log_likelihood : ndarray, shape (size, n)
        Of the documents, unweighted.
    mean : ndarray, shape (27, 27)
        Of the probabilities.
    """
    shape = 1 + np.tensordot(weights, pairs, axes=1)
    draws = rng.standard_gamma(shape, size=(size, *shape.shape))
    log_p = np.log(draws / draws.sum(axis=-1, keepdims=True)).reshape(size, -1)
    mean = shape / shape.sum(axis=1, keepdims=True)
    return log_p @ pairs.reshape(len(pairs), -1).T, mean


def extra_loss(mean, source):
    """Nats a symbol of new text that a model loses against the source itself."""
    ratio = np.where(source > 0, np.log(np.maximum(source, 1e-300) / mean), 0)
    return stationary(source) @ (source * ratio).sum(axis=1)


def study(seed, n=500, size=1000, k=0.95):
    """Bounds, weights and losses of one simulated collection.

    Returns
    -------
    DataFrame
        A row for Unweighted, LW and LW_final; ``seed``, ``bound``, ``weight``, the mean,
        and ``loss``.
    """
    rng = np.random.default_rng(seed)
    source = rng.dirichlet(np.full(SYMBOLS, 0.2), size=SYMBOLS)
    pairs = documents(source, n, rng)
    rows = {}

    def run(name, weights):
        log_likelihood, mean = fit(pairs, weights, size, rng)
        bounds = pp.lipschitz_bounds(log_likelihood, weights)
        rows[name] = {
            "seed": seed,
            "bound": bounds.max(),
            "weight": weights.mean(),
            "loss": extra_loss(mean, source),
        }
        return log_likelihood, bounds

    log_likelihood, _ = run("Unweighted", np.ones(n))
    weights = pp.lipschitz_weights(log_likelihood)
    _, bounds = run("LW", weights)
    run("LW_final", pp.reweight(weights, bounds, k))
    return pd.DataFrame(rows).T.rename_axis("weights")


def contrast(results):
    """Mean change by re-weighting, and its standard error between collections."""
    by_seed = results.set_index("seed", append=True)
    gap = by_seed.loc["LW_final"] - by_seed.loc["LW"]
    gap["bound"] = 100 * gap["bound"] / by_seed.loc["LW", "bound"]
    return gap.agg(["mean", "sem"])


def numbers_of(results):
    """Numbers for the text."""
    loss = results.groupby("weights", sort=False)["loss"].mean()
    change = contrast(results).loc["mean"]
    return {
        "language-collections": results["seed"].nunique(),
        "language-fall": -change["bound"],
        "language-share": -100 * change["loss"] / (loss["LW"] - loss["Unweighted"]),
    }


def claim(results):
    """Judge what P3 expects of language models: three standard errors, each."""
    change = contrast(results)
    low, high = (change.loc["mean"] + s * 3 * change.loc["sem"] for s in (-1, 1))
    mean = results.groupby("weights", sort=False)["loss"].mean()
    return {
        "P3-Fut2": (
            f"bound {change.loc['mean', 'bound']:+.0f}%, mean weight "
            f"{change.loc['mean', 'weight']:+.2f}, extra loss {mean['LW']:.4f} to "
            f"{mean['LW_final']:.4f}",
            high["bound"] < 0 and low["weight"] > 0 and high["loss"] < 0,
        )
    }
