"""From risk to weight."""

import numpy as np

from pseudopost._checks import as_number, as_vector


def marginal_weights(risk, scale=1.0, shift=0.0):
    r"""Weights that fall linearly with risk.

    Parameters
    ----------
    risk : array-like, shape (n,)
        Risks in [0, 1].
    scale, shift : float
        c, 0 or more, and g of the papers.

    Returns
    -------
    ndarray, shape (n,)
        :math:`c (1 - IR_i) + g`, clipped to [0, 1].

    Raises
    ------
    ValueError
        If a risk is missing or outside [0, 1], or c is negative.

    References
    ----------
    P2, Eqs 9 and 16; P3, Algorithms 2 and 3, step 4. The clipping at 0 is not printed
    there.
    """
    risk = as_vector(risk, "risk", low=0, high=1)
    scale = as_number(scale, "scale", low=0)
    return np.clip(scale * (1 - risk) + as_number(shift, "shift"), 0, 1)
