"""Measured and predicted times as text."""

import statistics

from compare.sizes import size_text

CLOSE = 0.20


def error_of(row):
    """How far the prediction is off, as a part of the measured time.

    >>> error_of({"measured_us": 8.0, "predicted_us": 12.0})
    0.5
    """
    return row["predicted_us"] / row["measured_us"] - 1


def heading():
    return (
        f"{'collective':>15} {'algorithm':>9} {'path':>4} {'ranks':>5} {'bytes':>6} "
        f"{'measured us':>12} {'predicted us':>12} {'error':>7}"
    )


def line_of(row):
    return (
        f"{row['collective']:>15} {row['algorithm']:>9} {row['path']:>4} {row['ranks']:>5} "
        f"{size_text(row['bytes']):>6} {row['measured_us']:12.1f} {row['predicted_us']:12.1f} "
        f"{100 * error_of(row):+6.0f}%"
    )


def summary(rows):
    """One line a path.

    >>> summary([{"path": "shm", "measured_us": 10, "predicted_us": 11}])
    'shm: 1 of 1 within 20 %, median error 10 %'
    """
    lines = []
    for path in dict.fromkeys(row["path"] for row in rows):
        errors = [abs(error_of(row)) for row in rows if row["path"] == path]
        close = sum(error <= CLOSE for error in errors)
        lines.append(
            f"{path}: {close} of {len(errors)} within {100 * CLOSE:.0f} %, "
            f"median error {100 * statistics.median(errors):.0f} %"
        )
    return "\n".join(lines)


def calibration_text(path, found):
    alphas = ", ".join(f"{n} ranks {1e6 * a:.1f} us" for n, a in sorted(found.alpha.items()))
    rates = ", ".join(
        f"{size_text(size)} {1e-9 / value:.2f} GB/s" if value > 0 else f"{size_text(size)} free"
        for size, value in found.copy.items()
    )
    reduces = ", ".join(
        f"{size_text(size)} {1e-9 / value:.2f} GB/s" if value > 0 else f"{size_text(size)} free"
        for size, value in found.reduce.items()
    )
    return (
        f"# {path.name}: a call {1e6 * found.call:.2f} us; alpha: {alphas}\n"
        f"#   a pair moves: {rates}\n#   reduces: {reduces}"
    )
