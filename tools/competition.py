"""Deal and score the release-board competition.

Usage: python tools/competition.py deal SEED
       python tools/competition.py score FOLDER

`deal` writes _build/competition/SEED: what releasers get, what attackers get, what the
teacher keeps, and the rules. `score` reads the releases and the guesses that were
handed in there, and writes board.csv.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import pseudopost as pp

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "_build" / "competition"
N, CANDIDATES = 400, 60
KNOWN = ["gender", "age", "region", "earner"]
STATISTICS = {
    "median": np.median,
    "mean below the top 1%": lambda y: y[y <= np.quantile(y, 0.99)].mean(),
    "90% quantile": lambda y: np.quantile(y, 0.9),
    "10% quantile": lambda y: np.quantile(y, 0.1),
}
RULES = """\
# The release board

An agency has a file of {n} households: {known}, and income. It wants to release it
with invented incomes.

**Releasers** (two or three teams) get `releasers/confidential.csv`. They hand in one
file with the same columns and as many rows, in any order, as `releases/TEAM.csv`. Any
method is allowed. They do not show their code before the end.

**Attackers** (all other teams) get `attackers/candidates.csv`, {candidates}
households of which half are in the confidential file, and every release. For each
release they hand in `guesses/TEAM-on-RELEASER.csv` with the columns `candidate` and
`probability`, their probability that the household is in the file. Always saying 0.5
is allowed.

**The teacher** keeps `teacher/members.csv`, and scores with `python
tools/competition.py score` and this folder.

**The board** shows two numbers for each release, and they are not added up:

- *loss*: the largest error of four statistics of income ({statistics}), in percent;
- *advantage*: of the best attack, 2 x (share of right guesses) - 1, where a
  probability above 0.5 is a guess of "in". 0 is a coin, 1 is certainty. Its standard
  error is about {error:.2f} for one attack, and the best of several attacks is above
  0 by luck alone.

Before the scores are shown, each team votes which release it would let out, and says
why.

*Times for one session of ninety minutes:* rules 10, releases 35, attacks 25, vote 5,
scores and discussion 15. *What to look for in the discussion:* whether the board
would have seen the difference before the attacks; whether an attack that found
nothing is a promise; which of the two numbers the teams had in mind when they chose
their settings.
"""


def deal(seed):
    """Write the files of a seed, and return their folder."""
    people = pp.datasets.consumer_expenditure(6208, random_seed=seed)[
        [*KNOWN, "income"]
    ]
    rng = np.random.default_rng([seed, 1])
    rows = rng.permutation(len(people))
    half = CANDIDATES // 2
    inside, outside = rows[:N], rows[N : N + half]
    asked = rng.permutation(np.append(inside[:half], outside))
    folder = PLACE / str(seed)
    for name in ("releasers", "attackers", "teacher", "releases", "guesses"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    confidential = people.iloc[rng.permutation(inside)]
    confidential.to_csv(folder / "releasers" / "confidential.csv", index=False)
    candidates = people.iloc[asked].reset_index(drop=True).rename_axis("candidate")
    candidates.to_csv(folder / "attackers" / "candidates.csv")
    members = pd.DataFrame(
        {"candidate": candidates.index, "in": np.isin(asked, inside)}
    )
    members.to_csv(folder / "teacher" / "members.csv", index=False)
    text = RULES.format(
        n=N,
        known=", ".join(KNOWN),
        candidates=CANDIDATES,
        statistics=", ".join(STATISTICS),
        error=1 / np.sqrt(CANDIDATES),
    )
    (folder / "RULES.md").write_text(text)
    return folder


def loss(confidential, release):
    """Return the largest error of the statistics, in percent."""
    missing = set(confidential) - set(release)
    if missing or len(release) != len(confidential):
        raise ValueError(
            f"a release must have {len(confidential)} rows and the columns "
            f"{[*confidential]}; this one has {len(release)} and {[*release]}"
        )
    true, released = (
        table["income"].to_numpy(float) for table in (confidential, release)
    )
    if not np.isfinite(released).all():
        raise ValueError("incomes of a release must be numbers; one is missing")
    return max(
        100 * abs(statistic(released) / statistic(true) - 1)
        for statistic in STATISTICS.values()
    )


def advantage(guesses, members):
    """Return 2 x (share of right guesses) - 1; a probability of 0.5 is half right."""
    table = members.merge(guesses, on="candidate", how="left", validate="one_to_one")
    if not table["probability"].between(0, 1).all():
        raise ValueError("every candidate needs one probability from 0 to 1")
    said = np.sign(table["probability"] - 0.5)
    return (said * np.where(table["in"], 1, -1)).mean()


def score(folder):
    """Score every release in a folder, and return the board."""
    folder = Path(folder)
    confidential = pd.read_csv(folder / "releasers" / "confidential.csv")
    members = pd.read_csv(folder / "teacher" / "members.csv")
    rows = {}
    for file in sorted((folder / "releases").glob("*.csv")):
        attacks = {
            guess.stem.removesuffix(f"-on-{file.stem}"): advantage(
                pd.read_csv(guess), members
            )
            for guess in sorted((folder / "guesses").glob(f"*-on-{file.stem}.csv"))
        }
        best = max(attacks, key=attacks.get) if attacks else ""
        rows[file.stem] = {
            "loss": loss(confidential, pd.read_csv(file)),
            "advantage": attacks.get(best, np.nan),
            "best attack": best,
            "attacks": len(attacks),
        }
    if not rows:
        raise ValueError(f"no release was handed in: {folder / 'releases'} is empty")
    board = pd.DataFrame.from_dict(rows, orient="index").rename_axis("release")
    board.to_csv(folder / "board.csv")
    return board


def main(command="", argument=""):
    if command == "deal" and argument.isdigit():
        print(deal(int(argument)))
    elif command == "score" and (Path(argument) / "teacher" / "members.csv").exists():
        try:
            print(score(argument).round(2).to_string())
        except ValueError as error:
            sys.exit(str(error))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
