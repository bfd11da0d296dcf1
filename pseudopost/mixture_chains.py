"""Chains over the mixture, from dispersed starts and side by side."""

import math
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

from pseudopost.compiled import kept_on_disk
from pseudopost.convergence import share_of_wanted
from pseudopost.mixture_exchanges import exchange
from pseudopost.mixture_starts import start
from pseudopost.mixture_sweeps import draw_of, gram_of, sweep

# Sweeps for each step of tuning, for each draw at first, and how many times as many at
# most: under weights, and with weights of 1, where a sweep takes less time and
# components come and go more slowly.
SWEEPS, SWEEPS_UNWEIGHTED = (10, 5, 32), (60, 30, 16)
# What is missing is overestimated by such a factor, and a chain becomes at most so many
# times as long before it is judged again.
MARGIN, LONGER = 1.1, 4
# Sizes of what is added to the Dirichlet shapes in the first half of tuning, in order,
# for a chain that starts from one component.
ADDED = (3.0, 1.5, 0.8, 0.4, 0.2, 0.1)
# In three quarters of its tuning no sigma of such a chain is below this part of what
# one regression leaves: narrow components that are born with help are slow to go.
WIDE = 0.5


@kept_on_disk
def run(data, state, extra, sweeps, rng):
    """Sweep so often, each time with a try of an exchange, in place.

    Parameters
    ----------
    data : Records
    state : State
    extra : float
        Added to the Dirichlet shape of each component: above 0 more components have
        records than under the posterior, at 0 they are its.
    sweeps : int
    rng : numpy.random.Generator
    """
    gram = gram_of(data)
    for _ in range(sweeps):
        sweep(data, gram, state, extra, rng)
        exchange(data, state, rng)


def in_c_order(data):
    """Copy what is not in C order; for each other order `run` would compile anew."""
    return type(data)(
        *(
            in_c_order(value)
            if isinstance(value, tuple)
            else np.ascontiguousarray(value)
            if isinstance(value, np.ndarray)
            else value
            for value in data
        )
    )


def residual_sd(data):
    """Compute the standard deviation of what one regression leaves."""
    design = np.column_stack([data.X, data.Z]) if data.Z.size else data.X
    return np.std(data.y - design @ np.linalg.lstsq(design, data.y)[0])


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


def side_by_side(tasks, workers):
    """Run generators to their ends, a step of each in turn; return their values.

    All are then done at about the same time, whatever the number of workers. After an
    error or an interrupt none begins another step.
    """
    waiting, values, stopped = deque(enumerate(tasks)), {}, threading.Event()

    def work():
        while waiting and not stopped.is_set():
            try:
                place, task = waiting.popleft()
            except IndexError:  # another worker was faster
                return
            try:
                next(task)
            except StopIteration as end:
                values[place] = end.value
            else:
                waiting.append((place, task))

    with ThreadPoolExecutor(workers) as pool:
        try:
            for worker in as_completed([pool.submit(work) for _ in range(workers)]):
                worker.result()
        except BaseException:
            stopped.set()
            raise
    return [values[place] for place in sorted(values)]


def longer(times, part):
    """Say how many times as long as at first a chain has to be.

    Parameters
    ----------
    times : int
        How many times as long it is.
    part : float
        Of what is wanted, that this gave; it may be NaN.
    """
    asked = math.ceil(MARGIN * times / part) if part > MARGIN / LONGER else np.inf
    return min(max(asked, times + 1), LONGER * times)


def sample(data, K, draws, tune, chains, seed, cores, bar, judged):
    """Run all chains; the result does not depend on the number of cores.

    If the draws say too little, the chains go on for as long as what is missing asks
    for, until the draws are enough or their sweeps the most. The first draws then count
    as tuning, and of later ones as many are kept as were asked for, evenly spaced.

    Parameters
    ----------
    data : Records
    K, draws, tune, chains, seed, cores : int
    bar : tqdm.tqdm
        Told of each draw and step of tuning, from any thread.
    judged : callable
        Returns what convergence is judged on, a dict of arrays of shape (chains, draws,
        ...), given draws.

    Returns
    -------
    draws : dict of ndarray, shape (chains, draws, ...)
        ``gamma``, ``pi``, ``beta``, ``sigma``, ``s``, ``slope``, ``scale``, and
        ``occupied``: components with records.
    judged : dict of ndarray, shape (chains, draws, ...)
    sweeps : int
        For each draw.
    """
    each_step, sweeps, most = SWEEPS if data.weights.min() < 1 else SWEEPS_UNWEIGHTED
    data, occupied = in_c_order(data), occupied_at_start(K, chains)

    def begin(chain, seed):
        rng = np.random.default_rng(seed)
        state = start(data, K, occupied[chain], int(rng.integers(2**32)))
        wide = data._replace(floor=max(data.floor, WIDE * residual_sd(data)))
        for step, added in enumerate(added_to_shapes(K, occupied[chain], tune)):
            given = data
            if occupied[chain] < K and step < 3 * tune // 4:
                given = wide
                np.maximum(state.sigma, 1.01 * wide.floor, out=state.sigma)
            run(given, state, added, each_step, rng)
            bar.update()
            yield
        return state, rng

    def go_on(state, rng, count):
        kept = []
        for _ in range(count):
            run(data, state, 0.0, sweeps, rng)
            kept.append(draw_of(state) | {"occupied": (state.size > 0).sum()})
            bar.update()
            yield
        return {name: np.stack([draw[name] for draw in kept]) for name in kept[0]}

    def drawn(count):
        by_chain = side_by_side([go_on(*place, count) for place in places], cores)
        return {name: np.stack([r[name] for r in by_chain]) for name in by_chain[0]}

    seeds = np.random.SeedSequence(seed).spawn(chains)
    places = side_by_side([begin(*chain) for chain in enumerate(seeds)], cores)
    found, times = drawn(draws), 1
    of_found = judged(found)
    every = {name: value[:, :0] for name, value in found.items()}
    while times < most and not (part := share_of_wanted(of_found)) >= 1:
        times = min(longer(times, part), most)
        missing = times * draws - every["gamma"].shape[1]
        bar.total += chains * missing
        every = {
            name: np.concatenate([every[name], new], axis=1)
            for name, new in drawn(missing).items()
        }
        found = {name: value[:, times - 1 :: times] for name, value in every.items()}
        of_found = judged(found)
    return found, of_found, sweeps * times
