"""What messages, printed fits, marks and workers show of confidential values."""

import functools
import html

import joblib
import numpy as np
import pandas as pd
import pytest

import pseudopost as pp

SECRET = 7654321.125
Y = np.array([1.0, 2.0, SECRET])
LABELLED = pd.Series([0.1, 0.2, 0.3], ["Ada", "Ben", "Cyd"])
MESSAGES = {
    "value": lambda: pp.identification_risk(-Y * np.inf, Y),
    "missing": lambda: pp.count_weights([SECRET, np.nan]),
    "whole": lambda: pp.PoissonSynthesizer([1, SECRET]),
    "text": lambda: pp.epsilon([f"{SECRET}"]),
    "range": lambda: pp.reweight([0.5, SECRET], [1, 1]),
    "2**53": lambda: pp.epsilon([int(SECRET) * 10**10]),
    "synthetic": lambda: pp.identification_risk(Y, [[1, 2, np.inf]]),
    "patterns": lambda: pp.identification_risk(Y, Y, patterns={SECRET}),
    "labels": lambda: pp.reweight(LABELLED, LABELLED.rename({"Cyd": "Dan"})),
    "shift": lambda: pp.MixtureSynthesizer(-Y, [[1], [2], [4]], 1),
    "level": lambda: pp.design_matrix(
        pd.DataFrame({"a": pd.Categorical(["u", "u"], ["u", f"{SECRET}"])}), 2
    ),
    "setting": lambda: pp.identification_risk(Y, Y, radius=Y),
    "count": lambda: pp.pairwise_weights(Y, order=Y),
    "flag": lambda: pp.bootstrap_interval(Y, np.mean, pooled=Y),
    "task": lambda: pp.replicate(lambda rng: {"a": Y}, 1, n_jobs=1, progressbar=False),
    "series": lambda: pp.plots.intervals({"Data": Y[::-1]}, xlabel=""),
    "column": lambda: pp.propensity_score_mse([[np.inf], [SECRET]], [[1], [2]]),
    "interval": lambda: pp.interval_overlap((SECRET, 0), (0, 1)),
}
TRACES = (f"{SECRET:g}", "7654321", "7.65432", "Ada", "Ben", "Cyd", "Dan", "inf", "nan")


@pytest.mark.parametrize("use", MESSAGES.values(), ids=MESSAGES)
def test_one_switch_keeps_values_out_of_messages(use, monkeypatch):
    with pytest.raises(ValueError, match=r" must ") as quoting:
        use()
    assert any(trace in str(quoting.value) for trace in TRACES)
    monkeypatch.setenv("PSEUDOPOST_QUOTE", "off")
    with pytest.raises(ValueError, match="a value that is not shown") as silent:
        use()
    rule = str(silent.value).replace("finite number in", "").replace(", inf]", "")
    assert not any(trace in rule for trace in TRACES)


@pytest.fixture(scope="module")
def fit():
    weights = pd.Series([0.123456, 0.654321, 1.0], ["Ada", "Ben", "Cyd"])
    y = pd.Series([3, 5, 8], weights.index)
    return pp.PoissonSynthesizer(y).fit(
        weights, random_seed=987654, draws=10, tune=20, progressbar=False
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")
class TestPrintedFit:
    def test_shows_names_and_sizes(self, fit):
        lines = repr(fit).splitlines()
        assert lines[0].startswith("Fit of a PoissonSynthesizer (confidential")
        assert "  constant_data  weights (record: 3)" in lines
        assert "  posterior      mu (chain: 2, draw: 10)" in lines
        assert lines[-1].strip() == fit.attrs["not_converged"]

    @pytest.mark.parametrize("show", [repr, str, lambda fit: fit._repr_html_()])
    def test_shows_no_weight_label_seed_or_mark(self, fit, show):
        text = show(fit)
        for trace in ("0.12", "0.65", "Ada", "987654", fit.attrs["model"]):
            assert trace not in text
        assert html.escape("PoissonSynthesizer") in text

    def test_a_group_shows_its_values_to_who_asks(self, fit):
        assert "0.1235" in repr(fit["constant_data"])

    def test_stays_so_when_it_is_copied(self, fit):
        assert repr(fit.copy(deep=True)) == repr(fit)
        assert repr(fit.isel(draw=slice(5))).startswith("Fit of a Poisson")

    def test_of_a_mixture_shows_its_components_with_records(self):
        y = np.exp(np.random.default_rng(1).normal(10, 1, size=40))
        fit = pp.MixtureSynthesizer(y, y[:, None], 3).fit(
            random_seed=1, draws=20, tune=20, progressbar=False
        )
        *_, line, last = repr(fit).splitlines()
        means = fit["sample_stats"]["occupied"].to_numpy().mean(axis=1)
        by_chain = ", ".join(f"{mean:.1f}" for mean in means)
        assert line == f"  components with records, by chain: {by_chain}"
        assert last.strip() == fit.attrs["not_converged"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")
def test_the_mark_of_a_fit_cannot_be_compared_without_its_seed():
    synthesizer = pp.PoissonSynthesizer([3, 5, 8])
    settings = {"draws": 10, "tune": 20, "progressbar": False}
    marks = {
        synthesizer.fit(random_seed=seed, **settings).attrs["model"] for seed in (1, 2)
    }
    assert len(marks) == 2
    assert synthesizer._fingerprint not in marks
    again = synthesizer.fit(random_seed=1, **settings)
    again.attrs["random_seed"] = 2
    with pytest.raises(ValueError, match="fit must come from this"):
        synthesizer.log_likelihood(again)


def is_in_a_file(rng, values):
    return {"in a file": isinstance(values, np.memmap), "size": values.size}


@pytest.mark.slow
def test_no_worker_reads_its_arguments_from_a_file():
    values = np.ones(2_000_000)
    with joblib.parallel_config(max_nbytes="1K"):
        found = pp.replicate(
            functools.partial(is_in_a_file, values=values),
            2,
            random_seed=1,
            n_jobs=2,
            progressbar=False,
        )
    assert not found["in a file"].any()
    assert (found["size"] == values.size).all()
