import warnings

import companion
import numpy as np
import pytest
import xarray as xr

import pseudopost as pp


def test_a_warning_about_convergence_is_printed_on_the_page(capsys, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", companion.print_convergence)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning(
            pp.ConvergenceWarning("R-hat 3"), pp.ConvergenceWarning, "", 1
        )
    assert capsys.readouterr() == ("R-hat 3\n", "")


def test_a_long_message_is_broken_into_lines(capsys):
    words = "chains " * 40
    companion.print_convergence(words, pp.ConvergenceWarning)
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines) == words.strip()
    assert max(map(len, lines)) <= 72


def test_shuffled_files_keep_the_values_of_each_group():
    values = np.arange(10)
    groups = [np.arange(4), np.arange(4, 9)]  # the last record is in no group
    files = companion.shuffled(values, groups, 30, np.random.default_rng(1))
    assert files.shape == (30, 10)
    for rows in (*groups, [9]):
        assert (np.sort(files[:, rows], axis=1) == values[rows]).all()
    assert len(np.unique(files, axis=0)) > 20


class Counting:
    """A mixture whose fits converge from so many draws on."""

    enough, problem, reached = 10, "ESS", 0.5

    def fit(self, weights, *, draws, tune, random_seed, progressbar):
        short = self.problem if draws < self.enough else ""
        judged = xr.Dataset({"reached": self.reached})
        fit = xr.DataTree.from_dict({"label_invariant": judged})
        fit.attrs = {"draws": draws, "seed": random_seed, "not_converged": short}
        return fit


@pytest.fixture
def reached(monkeypatch):
    "What is judged is how far the draws reached."
    monkeypatch.setattr(companion, "share_of_wanted", lambda judged: judged["reached"])


@pytest.mark.parametrize(
    ("profile", "draws", "made"),
    [("book", 10, 10), ("book", 6, 12), ("book", 4, 8), ("class", 6, 6)],
)
def test_a_fit_with_too_few_draws_is_made_once_more(
    monkeypatch, capsys, reached, profile, draws, made
):
    monkeypatch.setattr(companion, "PROFILE", profile)
    study = object.__new__(companion.Study)
    study.model = Counting()
    study.sampling = {"draws": draws, "tune": 2, "random_seed": 7}
    fit = study.fit()
    assert (fit.attrs["draws"], fit.attrs["seed"]) == (made, 7)
    assert study.sampling["draws"] == draws
    said = f"fitted once more, with {made} draws in place of {draws}\n"
    assert capsys.readouterr().out == (said if made > draws else "")


@pytest.mark.parametrize(
    ("problem", "reached_so_far"),
    [
        ("R-hat 1.300 above 1.05, bulk effective sample size 8", 0.9),
        ("bulk effective sample size 80 below 500", 0.16),
    ],
)
def test_a_fit_that_twice_the_draws_would_not_mend_is_not_made_again(
    monkeypatch, capsys, reached, problem, reached_so_far
):
    monkeypatch.setattr(companion, "PROFILE", "book")
    study = object.__new__(companion.Study)
    study.model = Counting()
    study.model.problem, study.model.reached = problem, reached_so_far
    study.sampling = {"draws": 6, "tune": 2, "random_seed": 7}
    assert study.fit().attrs["draws"] == 6
    assert capsys.readouterr().out == ""


def test_any_other_warning_is_shown_as_ever(capsys):
    shown = []
    companion.print_convergence(
        "careful", UserWarning, "file", 1, shown=lambda *given: shown.append(given)
    )
    assert shown == [("careful", UserWarning, "file", 1)]
    assert capsys.readouterr() == ("", "")


def test_files_of_a_chain_are_put_together():
    files = np.repeat([1.0, 2, 3, 4, 10], 4)
    assert companion.by_chain(files).tolist() == [1, 2, 3, 4, 10]
    table = np.stack([files, -files], axis=1)
    assert companion.by_chain(table).tolist() == [[k, -k] for k in (1, 2, 3, 4, 10)]
    with pytest.raises(ValueError, match="reshape"):
        companion.by_chain(files[:-1])


def test_standard_error_is_that_between_chains():
    rng = np.random.default_rng(1)
    chains = rng.normal(size=(5, 2))
    # What differs between the files of a chain does not count by itself.
    noise = np.array([-1.0, 1, -2, 2])[None, :, None]
    files = (chains[:, None] + noise).reshape(20, 2)
    expected = chains.std(axis=0, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(companion.standard_error(files), expected)


def test_widening_by_the_fit():
    rng = np.random.default_rng(2)
    files = rng.normal(size=(100, 5000))
    assert companion.widening(files) == pytest.approx(1, abs=0.02)
    # A fit whose chains are sqrt(3 / 20) apart: variance 1 + 3 of a mean of 20 files.
    chains = np.repeat(rng.normal(0, np.sqrt(3 / 20), size=(5, 5000)), 20, axis=0)
    widening = companion.widening(files + chains)
    within = np.sqrt(1 + 4 / 5 * 3 / 20)  # of a file, about the mean of all
    assert widening == pytest.approx(2 / within, rel=0.03)
    constant = np.arange(5.0).repeat(20)[:, None] * np.ones(3)
    assert companion.widening(constant) == pytest.approx(np.sqrt(100 / 4))


def test_contrasts_of_two_synthesizers():
    rng = np.random.default_rng(3)
    released = [(shift, *rng.normal(size=(2, 20, 7))) for shift in (1.0, 5.0)]
    table = companion.contrasts(
        released, {"mean": lambda of, z: of + z.mean(), "files": lambda of, z: len(z)}
    )
    chains = np.array(
        [[z.reshape(5, -1).mean(axis=1) for z in r[1:]] for r in released]
    )
    first, second = chains.mean(axis=(0, 2))
    variance = sum(chains[i, j].var(ddof=1) / 5 for i in (0, 1) for j in (0, 1))
    np.testing.assert_allclose(
        table.loc["mean"], [3 + first, 3 + second, second - first, variance**0.5 / 2]
    )
    assert table.loc["files"].tolist() == [4, 4, 0, 0]
