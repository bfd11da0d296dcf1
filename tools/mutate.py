"""Change the package a little, in many places, and see whether its tests notice.

Usage: python tools/mutate.py MODULE [--changes 100] [--seed 1] [--slow] [--tests FILE]

The Python that runs this needs cosmic-ray; the tests are run by that of `.venv`. A
change is one operator, comparison, condition or number, drawn at random from a place in
the module; the tests are those of `tests/test_MODULE.py`, or the files named.
Everything happens in a copy of the repository. Printed are how many changes a test
noticed, and the others.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

ROOT = Path(__file__).parents[1]
CONFIG = """\
[cosmic-ray]
module-path = "pseudopost/{module}.py"
timeout = {timeout}
excluded-modules = []
test-command = "env PYTHONPATH=. {python} -m pytest -x -p no:cacheprovider {tests}"

[cosmic-ray.distributor]
name = "local"
"""
# What is made in a checkout, and is not part of it.
MADE = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__", ".*_cache")


def main():
    """Draw changes, run the tests under each, and print those that nothing noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module")
    parser.add_argument("--changes", type=int, default=100, help="how many, at most")
    parser.add_argument("--seed", type=int, default=1, help="of the draw of changes")
    parser.add_argument("--slow", action="store_true", help="slow tests, too")
    parser.add_argument("--tests", nargs="+", help="files; by default of the module")
    parser.add_argument("--timeout", type=float, default=300, help="of the tests, in s")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(ROOT, Path(folder) / "copy", ignore=MADE)
        session = prepare(copy, args)
        run(copy, "exec", "mutate.toml", session)
        with use_db(copy / session, WorkDB.Mode.open) as db:
            tell(args.module, dict(db.results))


def prepare(copy, args):
    """List all changes, and set those aside that are not drawn."""
    slow = "" if args.slow else "-m 'not slow' "
    tests = args.tests or [f"tests/test_{args.module}.py"]
    (copy / "mutate.toml").write_text(
        CONFIG.format(
            module=args.module,
            timeout=args.timeout,
            python=ROOT / ".venv/bin/python",
            tests=slow + " ".join(tests),
        )
    )
    session = "mutate.sqlite"
    run(copy, "baseline", "mutate.toml")
    run(copy, "init", "mutate.toml", session)
    rng = random.Random(args.seed)
    with use_db(copy / session, WorkDB.Mode.open) as db:
        places = {}
        for item in db.work_items:
            places.setdefault(item.mutations[0].start_pos, []).append(item.job_id)
        drawn = [rng.choice(jobs) for _, jobs in sorted(places.items())]
        drawn = set(rng.sample(drawn, min(args.changes, len(drawn))))
        skipped = WorkResult(worker_outcome=WorkerOutcome.SKIPPED)
        left = [job for jobs in places.values() for job in jobs if job not in drawn]
        db.set_multiple_results(left, skipped)
    return session


def run(copy, *arguments):
    """Run cosmic-ray in the copy."""
    subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", *arguments], cwd=copy, check=True
    )


def tell(module, results):
    """Print what was noticed and what was not."""
    ran = [r for r in results.values() if r.worker_outcome != WorkerOutcome.SKIPPED]
    survived = [r for r in ran if r.test_outcome == TestOutcome.SURVIVED]
    print(f"{module}: {len(ran) - len(survived)} of {len(ran)} changes noticed")
    for result in survived:
        lines = result.diff.splitlines()
        print("\n".join(line for line in lines if line[:3] not in {"---", "+++"}))


if __name__ == "__main__":
    main()
