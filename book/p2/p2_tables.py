"""What P2 prints of estimates and risks, for the chapters that compare with it."""

import pandas as pd

PUBLISHED_NAMES = ["Unweighted", "Marginal", "Pairwise"]
QUANTITIES = ["mean", "median", "90% quantile", "Earner 2"]
# P2, Tables 4 and 5: dollars.
PUBLISHED = pd.DataFrame(
    {
        ("Data", "mean"): (72090.26, 70127.02, 74053.50),
        ("Data", "median"): (50225.15, 48995.01, 52000.00),
        ("Data", "90% quantile"): (153916.30, 147582.40, 159603.80),
        ("Data", "Earner 2"): (-45826.20, -49816.29, -41836.11),
        ("Unweighted", "mean"): (72377.12, 70412.90, 74415.81),
        ("Unweighted", "median"): (50538.50, 49043.63, 52115.76),
        ("Unweighted", "90% quantile"): (152597.10, 147647.40, 157953.80),
        ("Unweighted", "Earner 2"): (-46017.29, -50239.20, -41795.37),
        ("Marginal", "mean"): (76641.95, 72638.03, 81817.03),
        ("Marginal", "median"): (54229.08, 52877.58, 55537.29),
        ("Marginal", "90% quantile"): (134582.40, 130716.50, 138516.00),
        ("Marginal", "Earner 2"): (-34738.85, -46792.90, -22684.81),
        ("Pairwise", "mean"): (73184.83, 70887.88, 75626.18),
        ("Pairwise", "median"): (51692.10, 50235.51, 53052.61),
        ("Pairwise", "90% quantile"): (145968.90, 141137.70, 150867.30),
        ("Pairwise", "Earner 2"): (-44028.77, -49340.69, -38716.85),
    },
    ["estimate", "low", "high"],
).T
# P2, Table 2: how many of the ten records have an income from -10K to 50K.
PUBLISHED_LOW = 6
# P2, Tables 2 and 3: mean risks of the ten records that are riskiest in the data, and of
# those with the ten largest incomes.
PUBLISHED_MEANS = pd.DataFrame(
    {
        "riskiest": [0.99193, 0.06378, 0.00496, 0.58855],
        "largest": [0.98085, 0.03981, 0.00482, 0.09955],
    },
    index=["Data", "Unweighted", "Marginal", "Top-coded"],
).T.rename_axis("list")
# P2, section 3.3.2: under the unweighted synthesizer.
PUBLISHED_MEAN_RISK = 0.25
