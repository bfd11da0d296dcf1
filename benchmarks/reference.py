"""Reference posteriors of the mixture, by NUTS on the PyMC model.

Run from the repository root: python benchmarks/reference.py "shared slopes"

It starts near the centre of the prior, and has the package's model and nothing of its
sampler. What a test compares is stored in data/reference_posteriors.json.
"""

import argparse
import json
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path

import arviz as az
import numpy as np
import nutpie
import pymc as pm
from sweeps import FILES, VARYING, read, weights_of

import pseudopost as pp

STORE = Path("data/reference_posteriors.json")
# File, seed, K, varying columns, and whether the weights are P2's.
PAIRS = {
    "simulated file": ("lognormal_mixture", 1, 3, None, False),
    "shared slopes": ("ce2016q1", 1, 2, VARYING, False),
    "shared slopes, pairwise": ("ce2016q1", 1, 2, VARYING, True),
}
KEPT = ["pi", "beta", "sigma"]


def main():
    """Sample one pair, print what it says of itself, and store it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pair", choices=PAIRS)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--tune", type=int, default=1500)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--accept", type=float, default=0.95)
    args = parser.parse_args()
    synthesizer, weights = made(args.pair)
    fit, seconds = sampled(synthesizer, weights, args)
    found = summarised(synthesizer, fit)
    stored = json.loads(STORE.read_text()) if STORE.exists() else {}
    stored[args.pair] = provenance(args, fit, seconds) | {"quantities": found}
    STORE.write_text(json.dumps(stored, indent=1) + "\n")
    for name, value in stored[args.pair].items():
        print(name, value)


def made(pair):
    """Return the synthesizer and the weights of a pair."""
    name, seed, K, varying, pairwise = PAIRS[pair]
    y, X = read(name, seed)
    synthesizer = pp.MixtureSynthesizer(y, X, K, shift=FILES[name][1], varying=varying)
    return synthesizer, weights_of(y, X, pairwise)


def sampled(synthesizer, weights, args):
    """Sample; say now and then how far the chains are."""
    model = synthesizer.build_model()
    pm.set_data({"y_weights": weights}, model=model)
    compiled = nutpie.compile_pymc_model(model, var_names=KEPT)
    start = time.perf_counter()
    said = [start]

    def say(chains):
        if time.perf_counter() > said[0] + 60:
            said[0] = time.perf_counter()
            done = [
                f"{c.finished_draws} ({c.total_num_steps} steps, {c.divergences} div.)"
                for c in chains
            ]
            print(f"{said[0] - start:.0f} s: {', '.join(done)}", flush=True)

    fit = nutpie.sample(
        compiled,
        draws=args.draws,
        tune=args.tune,
        chains=args.chains,
        cores=args.cores,
        seed=args.seed,
        target_accept=args.accept,
        save_warmup=False,
        progress_bar=False,
        progress_callback=say,
    )
    return fit, time.perf_counter() - start


def summarised(synthesizer, fit):
    """Mean and sd of all that convergence is judged on, with Monte Carlo errors."""
    posterior = fit["posterior"].to_dataset()
    judged = synthesizer._label_invariant(posterior)
    found = {}
    for name, values in judged.items():
        parts = [values.mean(("chain", "draw")), values.std(("chain", "draw"))]
        parts += [az.mcse(judged, method=method)[name] for method in ("mean", "sd")]
        parts += [az.rhat(judged)[name], az.ess(judged)[name]]
        labels = ["mean", "sd", "mcse_mean", "mcse_sd", "rhat", "ess_bulk"]
        places = [values[dim].to_numpy().astype(str) for dim in values.dims[2:]]
        at = places[0] if places else [""]
        table = np.array([np.ravel(part) for part in parts]).T
        for place, row in zip(at, table, strict=True):
            key = f"{name} {place}".strip()
            found[key] = {
                label: float(f"{value:.6g}")
                for label, value in zip(labels, row, strict=True)
            }
    return found


def provenance(args, fit, seconds):
    """Say what was run, with which versions, and when."""
    name, seed, K, varying, pairwise = PAIRS[args.pair]
    stats = fit["sample_stats"].to_dataset()
    return {
        "file": name,
        "file seed": seed,
        "components": K,
        "varying": varying,
        "weights": "pairwise" if pairwise else "1",
        "algorithm": "NUTS by nutpie, from near the centre of the prior",
        "draws": args.draws,
        "tune": args.tune,
        "chains": args.chains,
        "seed": args.seed,
        "target_accept": args.accept,
        "divergences": int(stats["diverging"].sum()),
        "seconds": round(seconds),
        "day": date.today().isoformat(),
        "versions": {name: version(name) for name in ("pymc", "nutpie", "numba")},
    }


if __name__ == "__main__":
    main()
