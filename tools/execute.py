"""Execute the chapters that need it, the longest first, and say how it goes.

Usage: python tools/execute.py [--forget | --long | CHAPTER ...]

A chapter needs it if its code cells, or anything else that it executes or reads, has
changed since: the package and the modules beside the chapters, bar docstrings and
comments; data files and rows of the ledger; the profile; the versions of packages.
"""

import ast
import hashlib
import heapq
import json
import os
import re
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from textwrap import indent
from threading import Lock, Thread

import nbformat
import pandas as pd
from filelock import FileLock
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_core.utils import ensure_event_loop
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from pseudopost._source import digest_of_modules, digest_of_text

ROOT = Path(__file__).parents[1]
BOOK, BUILD, DATA = ROOT / "book", ROOT / "_build", ROOT / "data"
CHAPTERS = sorted(
    BOOK.rglob("*.ipynb"), key=lambda path: ("appendix" in path.parts, path)
)
LEDGER = BOOK / "ledger.csv"
TIMES = DATA / "running_times.csv"
INPUTS = BUILD / "inputs.json"
LOG = BUILD / "book.log"
GIGABYTES_PER_WORKER = 3
PROFILE = os.environ.get("PSEUDOPOST_PROFILE", "book")
# Run before a chapter: what an earlier one left in the process goes, modules stay.
# Processes that joblib starts import from the folders of sys.path alone.
EMPTY = """
%reset -f
__import__("matplotlib.pyplot").pyplot.close("all")
__import__("joblib").externals.loky.get_reusable_executor().shutdown()
__import__("os").chdir({folder!r})
__import__("sys").path.insert(0, {folder!r})
"""
# Run after a chapter, for `make refresh`: what its checked cell found, and what is said
# of rows of the ledger on real files.
FOUND = """
found = globals()["checked"].to_json(orient="index") if "checked" in globals() else "{}"
real = __import__("json").dumps(globals().get("real_files", {}))
print('{"checked": %s, "real_files": %s}' % (found, real))
"""
# Chapters of many long fits, which `make test` runs in a smaller profile.
LONG = {
    "mixture-synthesizer",
    "mixture-convergence",
    "heaps-and-coordinates",
    "simulation-study",
    "twelve-files",
    "ce-income",
    "ce-income-referee",
    "pairwise-weights",
    "tuning-experiments",
    "utility",
    "utility-measures",
    "whack-a-mole",
    "real-households",
    "real-counts",
    "local-to-global",
    "agreement",
    "your-own-data",
    "two-columns",
    "delete-every-record",
    "attack-it",
    "survey-weights",
    "other-rulers",
    "frontier",
}
LONG_PROFILE = os.environ.get("PSEUDOPOST_LONG_PROFILE", PROFILE)


def profile_of(path):
    """Name the size in which a chapter is executed."""
    return LONG_PROFILE if path.stem in LONG else PROFILE


def code_of(path):
    """Return the code cells of a chapter, one after the other."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def modules_of(code, folder):
    """Find the modules of the book that some code imports, directly or not."""
    found, waiting = {}, [code]
    while waiting:
        text = re.sub(r"^\s*[%!].*$", "pass", waiting.pop(), flags=re.M)
        for node in ast.walk(ast.parse(text)):
            names = [getattr(node, "module", None)] if hasattr(node, "module") else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                for file in (folder / f"{name}.py", BOOK / f"{name}.py"):
                    if name and file.exists() and file not in found:
                        found[file] = file.read_text()
                        waiting.append(found[file])
    return found


def inputs_of(path):
    """Hash all that a chapter executes or reads, bar its own cells."""
    code = code_of(path)
    modules = modules_of(code, path.parent)
    text = "\n".join([code, *modules.values()])
    own = "\n".join([code, *(t for f, t in modules.items() if f.parent != BOOK)])
    ledger = pd.read_csv(LEDGER, dtype=str, keep_default_na=False)
    if "ledger.csv" not in own and "LEDGER" not in own:
        ledger = ledger.loc[ledger["chapter"] == path.stem, ["id", "what", "published"]]
    parts = [
        profile_of(path),
        digest_of_modules(),
        *(digest_of_text(module) for _, module in sorted(modules.items())),
        *(
            f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}"
            for file in sorted(DATA.iterdir())
            if file.name in text
        ),
        ledger.to_csv(),
        (ROOT / "requirements.txt").read_text(),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@contextmanager
def outputs():
    """Open the executed chapters, one at a time, where the build looks for them."""
    BUILD.mkdir(exist_ok=True)
    with FileLock(BUILD / "outputs.lock"):
        cache = get_cache(BUILD / ".jupyter_cache")
        try:
            yield cache
        finally:
            cache.db.dispose()


def forget_stale():
    """Forget the outputs and pages of chapters whose inputs have changed."""
    known = json.loads(INPUTS.read_text()) if INPUTS.exists() else {}
    now = {path.stem: inputs_of(path) for path in CHAPTERS}
    with outputs() as cache:
        for record in cache.list_cache_records():
            stem = Path(record.uri).stem
            if known.get(stem) != now.get(stem):
                cache.remove_cache(record.pk)
    for path in CHAPTERS:
        if known.get(path.stem) != now[path.stem]:
            forget_page(path)
    INPUTS.write_text(json.dumps(now, indent=1))


def forget_page(path):
    """Have the next build read a chapter again, whose file may not have changed."""
    place = path.relative_to(ROOT).with_suffix(".doctree")
    (BUILD / ".doctrees" / place).unlink(missing_ok=True)


def keep(notebook, path, **data):
    """Store an executed chapter, and what else is known of it."""
    for cell in notebook.cells:
        cell.metadata.pop(
            "execution", None
        )  # the clock, by which nothing is found again
    with outputs() as cache:
        cache.cache_notebook_bundle(
            CacheBundleIn(notebook, str(path), data=data),
            check_validity=False,
            overwrite=True,
        )
    forget_page(path)


def is_kept(path):
    """Whether the outputs of a chapter are stored."""
    with outputs() as cache:
        try:
            cache.match_cache_file(path)
        except KeyError:
            return False
    return True


def expected_seconds():
    """Return the stored running times."""
    times = pd.read_csv(TIMES, comment="#", index_col="chapter")
    columns = {True: "small run", False: "nothing stored"}
    return {
        path.stem: float(times[columns[profile_of(path) == "class"]].get(path.stem, 1))
        for path in CHAPTERS
    }


def number_of_workers(wanted):
    """Return how many chapters run side by side: as many as fit into memory."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError):  # not every system tells
        memory = GIGABYTES_PER_WORKER * wanted
    return max(1, min(wanted, int(memory // GIGABYTES_PER_WORKER)))


class Progress:
    """Lines that say what has started and ended, and when all will be done."""

    def __init__(self, waiting, expected, workers):
        self.expected, self.workers = expected, workers
        self.waiting, self.running, self.done = dict.fromkeys(waiting), {}, {}
        self.lock = Lock()

    def say(self, text):
        """Print a line, and keep it in the log."""
        print(text, flush=True)
        with LOG.open("a") as file:
            file.write(f"{text}\n")

    def start(self, name):
        """Say that a chapter starts."""
        with self.lock:
            self.waiting.pop(name)
            self.running[name] = time.monotonic()
            self.say(f"{datetime.now():%H:%M:%S}  {name} ...")

    def end(self, name, problem=None):
        """Say that a chapter has ended, and return its seconds."""
        with self.lock:
            seconds = time.monotonic() - self.running.pop(name)
            if not problem:
                self.done[name] = seconds
            how = f"FAILED after {seconds:.0f} s" if problem else f"{seconds:.0f} s"
            left = len(self.waiting) + len(self.running)
            rest = timedelta(seconds=self.seconds_left())
            when = f"{left} left, until about {datetime.now() + rest:%H:%M}"
            self.say(f"{datetime.now():%H:%M:%S}  {name}: {how}; {when}")
            if problem:
                self.say(problem)
            return seconds

    def seconds_left(self):
        """Estimate how long the others take, at the speed seen so far."""
        expected = sum(self.expected[name] for name in self.done)
        speed = sum(self.done.values()) / expected if self.done else 1
        now = time.monotonic()
        ends = [
            max(speed * self.expected[name] - (now - start), 1)
            for name, start in self.running.items()
        ]
        ends += [0] * (self.workers - len(ends))
        heapq.heapify(ends)
        for name in self.waiting:
            heapq.heapreplace(ends, ends[0] + speed * self.expected[name])
        return max(ends)


def run(path, client, progress):
    """Execute one chapter and store it; return whether it succeeded."""
    progress.start(path.stem)
    notebook = nbformat.read(path, as_version=4)
    empty = EMPTY.format(folder=str(path.parent))
    notebook.cells.insert(0, nbformat.v4.new_code_cell(empty))
    notebook.cells.append(nbformat.v4.new_code_cell(FOUND))
    client.nb = notebook
    try:
        client.execute(cleanup_kc=False)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        progress.end(path.stem, indent("\n".join(text.splitlines()[-12:]), "    "))
        return False
    del notebook.cells[0]
    found = json.loads(notebook.cells.pop().outputs[0].text)
    keep(notebook, path, execution_seconds=progress.end(path.stem), **found)
    return True


def work(paths, progress):
    """Execute chapters until none is left.

    Each has a process of its own, except in the small book, where compiling a model
    takes longer than sampling from it: there a worker keeps its process, and with it
    what is compiled, until a chapter fails.
    """
    client = None
    with ExitStack() as process:
        for path in paths:
            if client is None or PROFILE != "class":
                process.close()
                client = NotebookClient(nbformat.v4.new_notebook(), timeout=7200)
                environment = os.environ | {"PSEUDOPOST_PROFILE": profile_of(path)}
                process.enter_context(client.setup_kernel(env=environment))
            if not run(path, client, progress):
                client = None
    ensure_event_loop().close()  # of this thread, in which nbclient ran


def main(*names):
    """Execute chapters, by default all that need it; or do what the option says."""
    if names == ("--forget",):
        return forget_stale()
    if names == ("--long",):
        return print(json.dumps(sorted(LONG)))
    if unknown := set(names) - {path.stem for path in CHAPTERS}:
        sys.exit(f"no such chapters: {', '.join(sorted(unknown))}")
    forget_stale()
    chosen = [path for path in CHAPTERS if not names or path.stem in names]
    expected = expected_seconds()
    waiting = [path for path in chosen if not is_kept(path)]
    waiting.sort(key=lambda path: -expected[path.stem])
    workers = number_of_workers(int(os.environ.get("WORKERS", os.cpu_count())))
    progress = Progress([path.stem for path in waiting], expected, workers)
    if len(chosen) > len(waiting):
        progress.say(f"{len(chosen) - len(waiting)} chapters are up to date")
    if waiting:
        progress.say(
            f"{datetime.now():%d %B %Y}: {len(waiting)} chapters to execute, "
            f"{workers} at a time, profile {PROFILE}; also in {LOG.relative_to(ROOT)}"
        )
    paths = iter(waiting)  # which the workers share
    threads = [
        Thread(target=work, args=(paths, progress), daemon=True) for _ in range(workers)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        progress.say("stopped; the next run goes on from here")
        os._exit(130)  # at once: the processes of the chapters end with this one
    if failed := [path.stem for path in waiting if not is_kept(path)]:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
