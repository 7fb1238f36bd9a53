"""What to say of training that ended without its tolerance, once nothing can be lost any more."""

from __future__ import annotations

from marginloom.training.certificate import Certificate


def shortfall(stopped: str, certificate: Certificate | None, max_iter: int, tol: float) -> str:
    """Return what to warn of if the passes were used up before the tolerance was reached, else nothing.

    Who holds the result warns with it last of all: users may have made warnings errors.

    Examples
    --------
    >>> shortfall("iterations", Certificate(2.0, 1.5, 0.25, exact=True), 100, 0.01)[:75]
    'training has not converged: after 100 passes the gap is 0.25, and tol asks '
    >>> shortfall("tolerance", Certificate(2.0, 2.0, 0.0, exact=True), 100, 0.01)
    ''
    """
    if stopped != "iterations" or certificate is None or certificate.gap <= tol:
        return ""
    return (
        f"training has not converged: after {max_iter} passes the gap is {_above(certificate.gap, tol)}, and tol asks "
        f"for {float(tol)!r}; scale the features to similar sizes, allow more passes (max_iter, --max-iter), or take "
        "another algorithm or a smaller C"
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
