"""What to say of training that ended without its tolerance, once nothing can be lost any more."""

from __future__ import annotations

from collections.abc import Callable

from marginloom.training.certificate import Certificate


def shortfall(
    stopped: str,
    certificate: Certificate | None,
    max_iter: int,
    tol: float,
    scaled: Callable[[], bool] = lambda: True,
) -> str:
    """Return what to warn of if the passes were used up before the tolerance was reached, else nothing.

    Who holds the result warns with it last of all: users may have made warnings errors. The advice to scale features is
    for tasks that have some to scale; `scaled` tells, and is asked only then, since it may look at all of them.

    Examples
    --------
    >>> shortfall("iterations", Certificate(2.0, 1.5, 0.25, exact=True), 100, 0.01)[:83]
    'training has not converged: after 100 passes the gap is 0.25, and tol is 0.01. Try '
    >>> shortfall("tolerance", Certificate(2.0, 2.0, 0.0, exact=True), 100, 0.01)
    ''
    """
    if stopped != "iterations" or certificate is None or certificate.gap <= tol:
        return ""
    passes = "1 pass" if max_iter == 1 else f"{max_iter} passes"
    scaling = "scaling the features to similar sizes, " if scaled() else ""
    return (
        f"training has not converged: after {passes} the gap is {_above(certificate.gap, tol)}, and tol is "
        f"{float(tol)!r}. Try {scaling}more passes (max_iter, --max-iter), a smaller C, or another algorithm"
    )


def _above(gap: float, tol: float) -> str:
    """Return a gap with two digits, or with as many as it takes to be seen above the tolerance.

    Examples
    --------
    >>> _above(0.0123, 0.01), _above(0.0100004, 0.01), _above(0.01004, 0.01003)
    ('0.012', '0.0100004', '0.01004')
    """
    shown = (f"{gap:.{digits}g}" for digits in range(2, 17))
    return next((text for text in shown if float(text) > tol), repr(gap))
