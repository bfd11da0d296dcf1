"""Chains over the mixture, from dispersed starts and side by side."""

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

from pseudopost.mixture_starts import start
from pseudopost.mixture_sweeps import draw_of, run

# Sweeps for each draw and each step of tuning. With weights of 1 a sweep takes a third
# of the time, and components come and go more slowly.
SWEEPS, SWEEPS_UNWEIGHTED = 16, 50
# Sizes of what is added to the Dirichlet shapes in the first half of tuning, in order,
# for a chain that starts from one component.
ADDED = (3.0, 1.5, 0.8, 0.4, 0.2, 0.1)


def occupied_at_start(K, chains):
    """Spread the numbers of components that chains start from, from K down to 1.

    Returns
    -------
    ndarray of int, shape (chains,)
    """
    return np.round(np.linspace(K, 1, chains)).astype(int)


def added_to_shapes(K, occupied, tune):
    """Plan what is added to the Dirichlet shapes, step by step of tuning.

    Components die by themselves; they are born with help. So a chain from few gets
    more, a chain from K nothing, and the second half of tuning is without.

    Returns
    -------
    ndarray, shape (tune,)
    """
    help_needed = (K - occupied) / max(K - 1, 1)
    half = tune // 2
    stage = np.arange(half) * len(ADDED) // max(half, 1)
    return np.r_[help_needed * np.array(ADDED)[stage], np.zeros(tune - half)]


def sample(data, K, draws, tune, chains, seed, cores, step):
    """Run all chains; the result does not depend on the number of cores.

    Parameters
    ----------
    data : Records
    K, draws, tune, chains, seed, cores : int
    step : callable
        Called after each draw and step of tuning, from any thread.

    Returns
    -------
    dict of ndarray, shape (chains, draws, ...)
        ``gamma``, ``pi``, ``beta``, ``sigma``, ``s``, ``slope``, ``scale``, and
        ``occupied``: components with records.
    """
    stopped, none = threading.Event(), np.zeros(draws)
    sweeps = SWEEPS if data.weights.min() < 1 else SWEEPS_UNWEIGHTED

    def chain(occupied, seed):
        rng = np.random.default_rng(seed)
        state = start(data, K, occupied, int(rng.integers(2**32)))
        kept = []
        for place, added in enumerate(np.r_[added_to_shapes(K, occupied, tune), none]):
            if stopped.is_set():
                return None
            run(data, state, added, sweeps, rng)
            if place >= tune:
                kept.append(draw_of(state) | {"occupied": (state.size > 0).sum()})
            step()
        return {name: np.stack([draw[name] for draw in kept]) for name in kept[0]}

    seeds = np.random.SeedSequence(seed).spawn(chains)
    with ThreadPoolExecutor(cores) as pool:
        tasks = [
            pool.submit(chain, *given)
            for given in zip(occupied_at_start(K, chains), seeds, strict=True)
        ]
        try:
            for task in as_completed(tasks):
                task.result()
        except BaseException:
            stopped.set()
            raise
    results = [task.result() for task in tasks]
    return {name: np.stack([r[name] for r in results]) for name in results[0]}
