"""Stand-ins for the files of the papers, and readers of the public ones."""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtri

from pseudopost._checks import as_count, as_number, as_seed, as_vector, check_finite

# Levels of the predictors of consumer_expenditure, and what each adds to log income.
EFFECTS = {
    "gender": {"Male": 0, "Female": -0.2},
    "age": {
        "Under 25": -0.7,
        "25 to 34": -0.15,
        "35 to 49": 0,
        "50 to 64": 0.05,
        "65 and over": -0.25,
    },
    "education": {
        "Graduate degree": 0.8,
        "Bachelor's degree": 0.55,
        "Associate's degree": 0.25,
        "Some college": 0.15,
        "High school": 0,
        "Grades 9 to 12": -0.25,
        "Grades 1 to 8": -0.4,
        "None": -0.45,
    },
    "region": {"Northeast": 0, "Midwest": -0.05, "South": -0.07, "West": 0},
    "urban": {"Urban": 0, "Rural": -0.15},
    "marital": {
        "Married": 0,
        "Widowed": -0.1,
        "Divorced": -0.15,
        "Separated": -0.3,
        "Never married": -0.3,
    },
    "urban_type": {"Urbanized area": 0, "Urban cluster": -0.08, "Rural": -0.04},
    "cbsa": {"Principal city": 0, "Rest of the CBSA": 0.06, "Outside a CBSA": -0.06},
    "family_size": {"1": 0, "2": 0.3, "3": 0.4, "4": 0.45, "5": 0.4, "6": 0.4}
    | dict.fromkeys(("7", "8", "9", "10", "11 or more"), 0.35),
    "earner": {"Earner": 0, "Not an earner": -0.38},
}
# Income in dollars by cumulative share of consumer units.
QUANTILES = {
    1.6e-4: -7000,
    0.0015: 0,
    0.004: 0,
    0.01: 1500,
    0.025: 5500,
    0.05: 9700,
    0.1: 15_800,
    0.25: 27_500,
    0.5: 50_300,
    0.75: 86_800,
    0.9: 153_916,
    0.975: 270_000,
    0.995: 440_000,
    0.9994: 970_000,
    1 - 1.6e-4: 1_800_000,
}

# Salary in dollars by cumulative share of recipients; zeros below, the top value above.
SALARIES = {
    0.0058: 1000,
    0.01: 2000,
    0.02: 6000,
    0.05: 19_000,
    0.1: 38_000,
    0.15: 48_500,
    0.25: 63_000,
    0.5: 95_000,
    0.75: 137_000,
    0.85: 165_000,
    0.9: 188_000,
    0.95: 230_000,
    0.98: 285_000,
    0.9925: 362_000,
}
TOP_SALARY = 509_000
# Columns of SALARYP in the public file, counted from 0, and its code for no salary.
SALARY_COLUMNS = slice(260, 269)
NO_SALARY = 9_999_998

# Interview files by predictor: the columns it can be read from, best first, and codes.
EDUCATION = list(EFFECTS["education"])[::-1]
MARITAL = dict(zip("12345", EFFECTS["marital"], strict=True))
CODES = {
    "gender": {
        "SEX_REF": {"1": "Male", "2": "Female"},
        "SEX": {"M": "Male", "F": "Female"},
    },
    "education": {
        "EDUC_REF": dict(zip(["0", *map(str, range(10, 17))], EDUCATION, strict=True))
        | {"17": "Graduate degree"},
        "EDUCA": dict(zip("12345678", EDUCATION, strict=True)),
    },
    "region": {"REGION": dict(zip("1234", EFFECTS["region"], strict=True))},
    "urban": {"BLS_URBN": {"1": "Urban", "2": "Rural"}},
    "marital": {
        "MARITAL1": MARITAL,
        "MARITAL": MARITAL,
        "FAM_TYPE": dict.fromkeys("12345", "Married")
        | dict.fromkeys("6789", "Not married"),
    },
    "metropolitan": {
        "SMSASTAT": {"1": "Urbanized area", "2": "Urban cluster"},
        "POPSIZE": dict.fromkeys("1234", "Urbanized area") | {"5": "Urban cluster"},
    },
    "cbsa": {
        "POPSIZE": dict.fromkeys("12", "Large area")
        | dict.fromkeys("34", "Medium area")
        | {"5": "Small area"}
    },
    "earner": {
        "EARNCOMP": dict.fromkeys("1234", "Earner")
        | dict.fromkeys("5678", "Not an earner"),
        "EARNER": {"Y": "Earner", "N": "Not an earner"},
        "INCNONW1": {"": "Earner"} | dict.fromkeys("123456", "Not an earner"),
    },
}
NUMBERS = {
    "income": ["FINCBTXM", "FINCBTAX"],
    "age": ["AGE_REF", "AGE"],
    "family_size": ["FAM_SIZE"],
}
# Blank in the public file where a place could be recognised.
SUPPRESSED = ("region", "metropolitan", "cbsa")


def _as_shares(shares, length=None):
    shares = as_vector(shares, "shares", length=length, low=0, high=1)
    if not np.isclose(shares.sum(), 1, rtol=0, atol=1e-9):
        raise ValueError(f"shares must sum to 1; they sum to {shares.sum():g}")
    return shares


def _with_seed(data, random_seed):
    data.attrs["random_seed"] = random_seed
    return data


def negative_binomial_mixture(
    n=1000, mu=(100, 100), phi=(5, 20), shares=(0.2, 0.8), random_seed=None
):
    """Skewed counts from a mixture of negative binomial distributions.

    Parameters
    ----------
    n : int
        Number of records, at most ten million.
    mu, phi : array-like, shape (K,)
        Means and dispersions of the components, above 0; their variances are mu + mu^2
        / phi.
    shares : array-like, shape (K,)
        Their probabilities, which must sum to 1.
    random_seed : int, optional
        Seed from 0 to 2**63 - 1; by default a new one from the operating system. The
        result keeps it in ``attrs["random_seed"]``.

    Returns
    -------
    Series of int, shape (n,)
        Called ``count``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    P3, section 2.1.
    Book: :ref:`quickstart`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> y = pp.datasets.negative_binomial_mixture(random_seed=1)
    >>> y.shape
    (1000,)
    >>> bool(95 < y.mean() < 105)
    True
    """
    shares = _as_shares(shares)
    mu = as_vector(mu, "mu", length=len(shares), low=np.finfo(float).tiny)
    phi = as_vector(phi, "phi", length=len(shares), low=np.finfo(float).tiny)
    random_seed = as_seed(random_seed)
    with np.errstate(over="ignore"):
        largest = mu * (1 + 10 / np.sqrt(phi))
    if (largest > 2**53).any():
        raise ValueError("mu must not be so large: counts would exceed 2**53")
    if (phi > 1e10 * np.maximum(mu, 1)).any():  # beyond, 1 - phi / (phi + mu) is lost
        raise ValueError("phi must be at most 1e10, or 1e10 times mu")
    rng = np.random.default_rng(random_seed)
    component = rng.choice(len(shares), size=as_count(n, "n", high=10**7), p=shares)
    mu, phi = mu[component], phi[component]
    counts = rng.negative_binomial(phi, phi / (phi + mu))
    return _with_seed(pd.Series(counts, name="count"), random_seed)


def lognormal_mixture(
    n=1000,
    shares=(0.94, 0.06),
    spread=(0.1, 0.7),
    noise=(0.22, 0.09),
    upper=0.6,
    random_seed=None,
):
    """Skewed positive values from two lognormal regressions on 15 categorical columns.

    P1 gives neither its parameters nor its levels; the defaults are chosen so that what
    it shows of its file holds, but for a high skewness, which takes ``upper=0.3``. In
    the first component the median is 0.1 or 1, by the column ``x6``, and the other
    columns change it little: these are the two modes. In the second, small one the
    columns place each value almost exactly, anywhere between the modes and up to about
    3.5: these are the records of high risk.

    Parameters
    ----------
    n : int
        Number of records, at most ten million.
    shares : array-like, shape (2,)
        Probabilities of the components.
    spread : array-like, shape (2,)
        Standard deviation of the log value that the columns other than ``x6`` explain,
        in each component.
    noise : array-like, shape (2,)
        Standard deviation of the log value that they leave.
    upper : float
        Probability of the upper mode in the first component, from 0 to 1.
    random_seed : int, optional
        Seed from 0 to 2**63 - 1; by default a new one from the operating system. The
        result keeps it in ``attrs["random_seed"]``.

    Returns
    -------
    DataFrame, shape (n, 16)
        ``value``, and ``x1`` to ``x15``: six columns of two levels and nine of three.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    P1, section 5.
    Book: :ref:`simulation-file`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> records = pp.datasets.lognormal_mixture(random_seed=1)
    >>> records.shape
    (1000, 16)
    >>> int(records["x7"].nunique())
    3
    """
    n = as_count(n, "n", low=2, high=10**7)
    shares = _as_shares(shares, length=2)
    spread = as_vector(spread, "spread", length=2, low=0)
    noise = as_vector(noise, "noise", length=2, low=0)
    upper = as_number(upper, "upper", low=0, high=1)
    random_seed = as_seed(random_seed)
    rng = np.random.default_rng(random_seed)
    columns = rng.integers(np.repeat([2, 3], [6, 9]), size=(n, 15))
    columns[:, 5] = rng.random(n) < upper
    effects = rng.normal(size=(2, 15, 3))
    effects[:, 5] = 0
    mean = effects[:, np.arange(15), columns].sum(axis=-1)
    mean -= mean.mean(axis=1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):
        mean *= (spread / mean.std(axis=1))[:, None]
    mean[0] += np.log([0.1, 1])[columns[:, 5]]
    mean[1] += np.log(0.75)
    component = rng.choice(2, size=n, p=shares)
    with np.errstate(over="ignore", invalid="ignore"):
        # NumPy takes a scale of -0.0 for a negative one; 0.0 is added.
        log_value = rng.normal(mean[component, np.arange(n)], noise[component] + 0.0)
        value = np.exp(log_value)
    check_finite(value, "spread and noise", "a value")
    labels = pd.DataFrame(columns, columns=[f"x{j}" for j in range(1, 16)])
    records = labels.astype("category")
    records.insert(0, "value", value)
    return _with_seed(records, random_seed)


def consumer_expenditure(n=6208, random_seed=None):
    """Households with a skewed income and the ten predictors of P1 and P2.

    A stand-in for their confidential file, the Consumer Expenditure Survey of the first
    quarter of 2017. No record is real. The predictors are drawn one after the other, in
    proportions close to those of public quarters of the survey. Their effects and a
    noise of two parts, one of them for the few with unusual incomes, give each record a
    place in the order of incomes. Its income is the quantile at that place, so that the
    income distribution is nearly the same for every seed, and agrees with the
    published one.
    Last, some incomes are rounded, as people do who report them.

    Parameters
    ----------
    n : int
        Number of records, at most ten million. Far above 6,208 several share the
        smallest and the largest income.
    random_seed : int, optional
        Seed from 0 to 2**63 - 1; by default a new one from the operating system. The
        result keeps it in ``attrs["random_seed"]``.

    Returns
    -------
    DataFrame, shape (n, 11)
        ``income``, whole dollars a year from -7,000 to 1,800,000, and ten categorical
        columns: ``gender`` (2 levels), ``age`` (5), ``education`` (8), ``region`` (4),
        ``urban`` (2), ``marital`` (5), ``urban_type`` (3), ``cbsa`` (3),
        ``family_size`` (11) and ``earner`` (2). The first level is the baseline. Levels
        that do not occur, as can happen with few records, are left out.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    P1, section 1.1; P2, Table 1, and Tables 3 to 5 for the incomes.
    Book: :ref:`income-file`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> people = pp.datasets.consumer_expenditure(random_seed=1)
    >>> people.shape
    (6208, 11)
    >>> people["earner"].cat.categories.to_list()
    ['Earner', 'Not an earner']
    >>> round(float(people["income"].median()), -3)
    50000.0
    """
    n = as_count(n, "n", high=10**7)
    random_seed = as_seed(random_seed)
    rng = np.random.default_rng(random_seed)

    def draw(shares):
        ends = np.cumsum(np.broadcast_to(shares, (n, np.shape(shares)[-1])), axis=1)
        return (rng.random(n)[:, None] * ends[:, -1:] >= ends).sum(axis=1)

    # Percentages; where a column's shares are indexed by another, they depend on it.
    x = {"age": draw([6, 16, 25, 29, 24]), "region": draw([18, 20, 36, 26])}
    women = np.array([48, 42, 41, 45, 55])[x["age"]]
    x["gender"] = draw(np.column_stack([100 - women, women]))
    marital = [
        [[14, 1, 1, 1, 83], [10, 1, 2, 2, 85]],
        [[50, 1, 4, 1, 44], [33, 1, 9, 4, 53]],
        [[67, 1, 12, 2, 18], [45, 2, 23, 6, 24]],
        [[66, 3, 18, 2, 11], [46, 9, 26, 5, 14]],
        [[67, 14, 12, 2, 5], [28, 43, 21, 2, 6]],
    ]
    x["marital"] = draw(np.array(marital)[x["age"], x["gender"]])
    married = (x["marital"] == 0).astype(int)
    education = [
        [2, 14, 6, 43, 23.5, 10, 1.3, 0.2],
        [12, 27, 9, 19, 24.5, 6.5, 1.8, 0.2],
        [16, 23, 9.5, 19, 22, 7, 3.2, 0.3],
        [13.5, 21, 9.5, 19, 25.5, 7.7, 3.4, 0.4],
        [12, 15, 7.4, 19.5, 30, 11, 4.6, 0.5],
    ]
    x["education"] = draw(np.array(education)[x["age"]])
    idle = np.array([[14, 8, 10, 30, 80], [4, 3, 3, 12, 65]])[married, x["age"]]
    x["earner"] = draw(np.column_stack([100 - idle, idle]))
    family_size = [  # not married below 50, and from 50; married below 50, and from 50
        [50, 23, 14, 8, 3.3, 1.2, 0.2, 0.1, 0.1, 0.1, 0.1],
        [73, 17, 6, 2, 1, 0.4, 0.2, 0.1, 0.1, 0.1, 0.1],
        [1, 21, 23, 28, 14, 7, 2.9, 1.1, 0.7, 0.7, 0.6],
        [2.5, 67, 16, 9, 3.3, 1.2, 0.4, 0.3, 0.1, 0.1, 0.1],
    ]
    x["family_size"] = draw(np.array(family_size)[2 * married + (x["age"] > 2)])
    cbsa = [[32, 62, 6], [32, 43, 25], [31, 54, 15], [39, 58, 3]]
    x["cbsa"] = draw(np.array(cbsa)[x["region"]])
    x["urban_type"] = draw(np.array([[96, 3, 1], [74, 9, 17], [2, 50, 48]])[x["cbsa"]])
    rural = np.where(x["urban_type"] == 2, np.array([5, 5, 75])[x["cbsa"]], 0)
    x["urban"] = draw(np.column_stack([100 - rural, rural]))

    score = sum(np.array([*EFFECTS[name].values()])[x[name]] for name in EFFECTS)
    # Below 65, not to earn costs twice as much.
    score = score - np.where((x["earner"] == 1) & (x["age"] < 4), 0.4, 0)
    unusual = rng.random(n) < 0.2
    score = score + rng.normal(np.where(unusual, -0.5, 0), np.where(unusual, 1.1, 0.5))
    share = (np.argsort(np.argsort(score)) + rng.random(n)) / n
    # On these two scales the curve through the quantiles is nearly straight.
    places, values = ndtri([*QUANTILES]), np.array([*QUANTILES.values()])
    curve = PchipInterpolator(places, np.arcsinh(values / 1000))
    income = 1000 * np.sinh(curve(np.clip(ndtri(share), places[0], places[-1])))
    step = rng.choice([1, 1000, 5000, 10_000], size=n, p=[0.61, 0.29, 0.075, 0.025])
    step = np.where(income < 5 * step, 1, step)  # a small income is not rounded so far
    columns = {"income": (step * np.rint(income / step)).astype(np.int64)}
    for name, levels in EFFECTS.items():
        column = pd.Categorical.from_codes(x[name], [*levels])
        columns[name] = column.remove_unused_categories()
    return _with_seed(pd.DataFrame(columns), random_seed)


def read_consumer_expenditure(path):
    r"""Read a public interview file of the Consumer Expenditure Surveys.

    The Bureau of Labor Statistics publishes one zip file a year; the file of a quarter
    is called ``fmli``, as in ``fmli171x.csv`` of ``intrvw17.zip``. Consumer units with
    an income that was not given have 0 in quarters without the imputed income
    ``FINCBTXM``.

    Parameters
    ----------
    path : path-like or file-like
        The comma-separated file.

    Returns
    -------
    DataFrame, shape (n, 11)
        The columns of :func:`consumer_expenditure`, in its order and with its levels,
        apart from four differences that come from the public file. ``urban_type`` and
        ``cbsa``, which are not published, have the nearest that is. The first is
        "Rural" where ``urban`` is, so that a regression without a prior cannot have
        both; elsewhere "Urbanized area" in a metropolitan area, and "Urban cluster"
        outside. The second has the size of the primary sampling unit: "Large area"
        above about a million people, "Small area" below about 100,000, and "Medium
        area". A place that was suppressed has the level "Suppressed". Without
        ``MARITAL1``, ``marital`` is "Married" or "Not married", by the type of family.
        Levels that do not occur are left out.

    Raises
    ------
    ValueError
        If the file is not such a file, a column is missing, or a code is unknown.

    References
    ----------
    P1, section 1.1; P2, Table 1.
    Book: :ref:`ce-public`.

    Examples
    --------
    A file of one household, in place of the published one:

    >>> import io
    >>> import pseudopost as pp
    >>> file = io.StringIO(
    ...     "FINCBTXM,AGE_REF,FAM_SIZE,SEX_REF,EDUC_REF,REGION,BLS_URBN,"
    ...     "MARITAL1,SMSASTAT,POPSIZE,EARNCOMP\n"
    ...     "54000,41,3,2,15,4,1,1,1,2,1\n"
    ... )
    >>> people = pp.datasets.read_consumer_expenditure(file)
    >>> people.loc[0, ["age", "education", "cbsa"]].to_list()
    ['35 to 49', "Bachelor's degree", 'Large area']
    """
    try:
        file = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as e:
        raise ValueError(f"path must be a comma-separated file; got {path!s}") from e
    if file.empty:
        raise ValueError(f"path must have records; got none in {path!s}")
    file = file.rename(columns=str.upper).reset_index(drop=True)
    found = {
        name: next((column for column in columns if column in file), None)
        for name, columns in {**NUMBERS, **CODES}.items()
    }
    missing = [
        " or ".join({**NUMBERS, **CODES}[name])
        for name, column in found.items()
        if column is None
    ]
    if missing:
        raise ValueError(
            "path must be an interview file (fmli); it has no column "
            f"{', no '.join(missing)}"
        )
    number = {name: _as_numbers(file[found[name]]) for name in NUMBERS}
    for name, low in [("age", 0), ("family_size", 1)]:
        wrong = (number[name] < low) | (number[name] % 1 != 0)
        _refuse(wrong, file[found[name]], f"a whole number of at least {low}")
    levels = {
        name: _as_levels(file[found[name]], codes[found[name]], name in SUPPRESSED)
        for name, codes in CODES.items()
    }
    ages = list(EFFECTS["age"])
    limits = [0, 25, 35, 50, 65, np.inf]
    levels["age"] = pd.cut(number["age"], limits, False, ages, ordered=False)
    size = number["family_size"].clip(upper=11).astype(int) - 1
    levels["family_size"] = np.array([*EFFECTS["family_size"]])[size]
    rural = levels["urban"] == "Rural"
    levels["urban_type"] = levels["metropolitan"].mask(rural, "Rural")
    columns = {"income": number["income"]}
    for name, known in EFFECTS.items():
        own = list(CODES[name][found[name]].values()) if name in CODES else []
        order = dict.fromkeys([*known, *own, "Suppressed"])
        column = pd.Categorical(levels[name], [*order])
        columns[name] = column.remove_unused_categories()
    return pd.DataFrame(columns)


def doctorate_salary(n=1000, random_seed=None):
    """Salaries with a spike at zero, a heap at the top, and round numbers between.

    A stand-in for the sample of the 2017 Survey of Doctorate Recipients in P3, whose
    mean is 107,609 dollars, median 95,000 and standard deviation 69,718. No record is
    real. As in the public file, about 0.6% earn nothing, salaries are multiples of
    1,000, many of them of 5,000 or 10,000, and nobody is between 362,000 and the top
    value, which about 0.8% have. The distribution is nearly the same
    for every seed.

    Parameters
    ----------
    n : int
        Number of records, at most ten million.
    random_seed : int, optional
        Seed from 0 to 2**63 - 1; by default a new one from the operating system. The
        result keeps it in ``attrs["random_seed"]``.

    Returns
    -------
    Series of int, shape (n,)
        Called ``salary``, in dollars a year: 0 to 362,000, or 509,000.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    P3, section 3.
    Book: :ref:`sdr-salary`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> y = pp.datasets.doctorate_salary(random_seed=1)
    >>> int(y.min()), int(y.max())
    (0, 509000)
    >>> round(float(y.mean()), -4)
    110000.0
    """
    n = as_count(n, "n", high=10**7)
    random_seed = as_seed(random_seed)
    rng = np.random.default_rng(random_seed)
    share = (rng.permutation(n) + rng.random(n)) / n
    places, values = ndtri([*SALARIES]), np.array([*SALARIES.values()])
    # On these two scales the curve through the quantiles is nearly straight.
    curve = PchipInterpolator(places, np.sqrt(values))
    salary = curve(np.clip(ndtri(share), places[0], places[-1])) ** 2
    # The larger the salary, the more often it is rounded to 10,000.
    coarse = rng.random(n) - salary / 500_000
    step = np.select([salary < 20_000, coarse < 0, coarse < 0.2], [1, 10, 5], 1) * 1000
    salary = np.clip(step * np.rint(salary / step), values[0], values[-1])
    salary[share < min(SALARIES)] = 0
    salary[share > max(SALARIES)] = TOP_SALARY
    salaries = pd.Series(salary.astype(np.int64), name="salary")
    return _with_seed(salaries, random_seed)


def read_doctorate_recipients(path):
    r"""Read the salaries of the public file of the 2017 Survey of Doctorate Recipients.

    The National Center for Science and Engineering Statistics publishes it as text of
    fixed width, ``EPSD17.DAT``, and as a SAS file. Recipients who do not work have no
    salary and are left out.

    Parameters
    ----------
    path : path-like
        The text file, or the SAS file (``.sas7bdat`` or ``.xpt``).

    Returns
    -------
    ndarray of int, shape (n,)
        ``SALARYP``, dollars a year, in the order of the file: multiples of 1,000, with
        509,000 standing for all salaries above about 362,000.

    Raises
    ------
    ValueError
        If the file is not such a file, or a salary is no number, negative, or above
        509,000.

    References
    ----------
    P3, section 3.
    Book: :ref:`sdr-salary`.

    Examples
    --------
    A file of two recipients, in place of the published one; the second has no salary:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pseudopost as pp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "EPSD17.DAT"
    ...     lines = [f"{salary:>269}" for salary in ("95000", "9999998")]
    ...     _ = path.write_text("\n".join(lines))
    ...     y = pp.datasets.read_doctorate_recipients(path)
    >>> y.tolist()
    [95000]
    """
    path = Path(path)
    if path.suffix.lower() in {".sas7bdat", ".xpt"}:
        file = pd.read_sas(path).rename(columns=str.upper)
        if "SALARYP" not in file:
            raise ValueError(f"path must have a column SALARYP; got {path}")
        column = file["SALARYP"]
    else:
        lines = path.read_text(encoding="latin-1").splitlines()
        short = next((i for i, x in enumerate(lines) if len(x.rstrip()) < 269), None)
        if short is not None or not lines:
            found = (
                f"record {short} has {len(lines[short])}" if lines else "it is empty"
            )
            raise ValueError(
                f"path must have lines of at least 269 characters; {found}"
            )
        column = pd.Series([x[SALARY_COLUMNS].strip() for x in lines], name="SALARYP")
    salary = _as_numbers(column)
    _refuse(
        # Zero in a SAS transport file is read as 5e-79.
        (~salary.between(0, TOP_SALARY) | ((salary - salary.round()).abs() > 1e-6))
        & (salary != NO_SALARY),
        column,
        f"a whole salary from 0 to {TOP_SALARY}, or {NO_SALARY}",
    )
    return salary[salary != NO_SALARY].round().to_numpy().astype(np.int64)


def health_insurance_experiment():
    """Doctor visits of the RAND Health Insurance Experiment, as statsmodels ships them.

    Families in six places of the United States were given insurance plans at random,
    for three or five years from 1974 on, which left them from nothing to all of the
    cost of a visit. The file is in the public domain, and has no number of a person
    or a family; its order keeps the years of a person together.

    Returns
    -------
    DataFrame, shape (20190, 9)
        A row for each person and year:

        - ``visits``, outpatient visits to a doctor;
        - ``coinsurance``, the percentage of the cost that the plan left to the person
          (0, 25, 50, 95 or 100), and ``deductible``, 1 if the plan had a deductible for
          each person;
        - ``incentive``, the payment for taking part, and ``maximum``, the family's
          largest expense (0 with a deductible), both in logarithms of dollars;
        - ``limitation``, 1 if the person has a physical limitation, and ``diseases``,
          an index of chronic ones; both have fractions where values were imputed;
        - ``health``, as the person rates it: "excellent", "good", "fair" or "poor";
        - ``person``, a number made here: rows that follow each other and agree in plan,
          limitation, diseases and health, at most five of them. Two alike persons in a
          family can be taken as one, and one as two.

    Raises
    ------
    ImportError
        If statsmodels is not installed.

    References
    ----------
    Book: :ref:`real-counts`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> file = pp.datasets.health_insurance_experiment()
    >>> len(file), int(file["visits"].max())
    (20190, 77)
    >>> file["coinsurance"].value_counts().to_dict()
    {0: 10997, 25: 4065, 95: 2653, 50: 1401, 100: 1074}
    """
    try:
        from statsmodels.datasets import randhie
    except ImportError as e:
        raise ImportError(
            "the file comes with statsmodels: pip install statsmodels"
        ) from e
    raw = randhie.load_pandas().data.reset_index(drop=True)
    rated = raw[["hlthg", "hlthf", "hlthp"]].to_numpy() @ np.arange(1, 4)
    file = pd.DataFrame(
        {
            "visits": raw["mdvis"].astype(np.int64),
            "coinsurance": np.rint(np.expm1(raw["lncoins"])).astype(np.int64),
            "deductible": raw["idp"].astype(np.int64),
            "incentive": raw["lpi"],
            "maximum": raw["fmde"],
            "limitation": raw["physlm"],
            "diseases": raw["disea"],
            "health": pd.Categorical.from_codes(
                rated, ["excellent", "good", "fair", "poor"]
            ),
        }
    )
    same = file[["coinsurance", "deductible", "limitation", "diseases", "health"]]
    begins = (same != same.shift()).any(axis=1).to_numpy()
    year = np.arange(len(file)) - np.maximum.accumulate(
        np.where(begins, np.arange(len(file)), 0)
    )
    file["person"] = np.cumsum(year % 5 == 0) - 1
    return file


def _as_numbers(column):
    """Finite numbers of a column of text."""
    values = pd.to_numeric(column, errors="coerce")
    _refuse(~np.isfinite(values), column, "a finite number")
    return values


def _as_levels(column, codes, may_be_blank):
    """Levels that the codes of a column of text stand for."""
    # 01, 1 and 1.0 are one code; NA and a single dot are blank.
    text = column.str.strip().replace({"NA": "", ".": ""})
    text = text.str.replace(r"\.0$", "", regex=True)
    text = text.str.replace(r"^0+(?=\d)", "", regex=True)
    levels = text.map(codes)
    if may_be_blank:
        levels = levels.mask(text == "", "Suppressed")
    _refuse(levels.isna(), column, f"one of {', '.join(c or 'blank' for c in codes)}")
    return levels


def _refuse(bad, column, rule):
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"{column.name} must be {rule}; record {i} has {column[i]!r}")
