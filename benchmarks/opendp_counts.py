"""A perturbed histogram of P3's sample by OpenDP, as a check of the one in the book.

OpenDP takes its randomness from the operating system and can't be seeded, so what it
gives is stored: in data/opendp_counts.csv, which the chapter `every-file` reads.

Run from the repository root, with OpenDP installed beside the package:
pip install opendp && PYTHONPATH=book/beyond python benchmarks/opendp_counts.py
"""

from datetime import date
from importlib.metadata import version
from pathlib import Path

import every_file
import numpy as np
import opendp.prelude as dp
import pandas as pd

STORE, SAMPLE = Path("data/opendp_counts.csv"), Path("data/p3_table1_sample.csv")
EPSILONS, FILES, SEED = (0.1, 0.3, 1.0, 3.0, 10.0), 400, 1


def main():
    """Store the distance of files from noisy histograms, by epsilon."""
    dp.enable_features("contrib")
    y = pd.read_csv(SAMPLE)["outcome"].to_numpy()
    cells = np.add.reduceat(
        np.bincount(y, minlength=every_file.LARGEST + 1),
        np.arange(0, every_file.LARGEST + 1, every_file.BIN),
    ).tolist()
    # Neighbours differ by one record, so one cell by 1.
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    rng = np.random.default_rng(SEED)
    rows = []
    for epsilon in EPSILONS:
        mechanism = space >> dp.m.then_laplace(scale=1 / epsilon)
        if mechanism.map(1) > epsilon * (1 + 1e-9):
            raise RuntimeError(f"OpenDP promises {mechanism.map(1)} and not {epsilon}")
        noisy = np.array([mechanism(cells) for _ in range(FILES)])
        found = every_file.distances(y, every_file.from_cells(noisy, len(y), rng))
        distance = found["distance"]
        rows.append(
            {
                "epsilon": epsilon,
                "files": FILES,
                "distance": round(distance.mean(), 4),
                "standard_error": round(distance.std() / np.sqrt(FILES), 4),
                "opendp": version("opendp"),
                "measured": date.today().isoformat(),
            }
        )
    pd.DataFrame(rows).to_csv(STORE, index=False)
    print(STORE.read_text())


if __name__ == "__main__":
    main()
