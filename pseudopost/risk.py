"""How isolated a record is among the others."""

import numpy as np

from pseudopost._checks import as_number, as_vector


def share_outside(y, radius=0.2):
    r"""Share of the records that lie outside each record's ball.

    Parameters
    ----------
    y : array-like, shape (n,)
        Values on the released scale.
    radius : float
        r, above 0. The ball of record i is the closed interval from :math:`y_i - r
        |y_i|` to :math:`y_i + r |y_i|`; comparing with its two ends keeps whole
        numbers at exactly its radius, for whole percentages up to 50.

    Returns
    -------
    ndarray, shape (n,)
        In [0, 1): record i is in its own ball and is counted.

    Raises
    ------
    ValueError
        If a value is missing or not finite, or the radius is not positive.

    References
    ----------
    P3, Algorithm 3, steps 2-3.
    """
    y = as_vector(y, "y")
    reach = as_number(radius, "radius", low=0, open_low=True) * np.abs(y)
    order = np.sort(y)
    inside = np.searchsorted(order, y + reach, "right") - np.searchsorted(
        order, y - reach, "left"
    )
    return 1 - inside / len(y)
