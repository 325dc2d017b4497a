"""Message sizes: how they are written, and how few launches cover a list of them."""

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text):
    """Bytes of "64K"."""
    unit = text[-1:].upper() if text[-1:].isalpha() else ""
    number = text[: len(text) - len(unit)]
    if unit not in UNITS or not number.isdigit() or int(number) == 0:
        raise ValueError(f"'{text}' is not a size: write 16, 64K, 1M or 1G")
    return int(number) * UNITS[unit]


def size_text(size):
    """The shortest exact text, as parse_size reads it."""
    for unit in ("G", "M", "K"):
        if size % UNITS[unit] == 0:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)


def sizes_for(collective, ranks, sizes):
    """Those that divide among the ranks in the steps of 16 bytes that *_perf programs take; others
    would be rounded, to nothing at worst."""
    step = 16 * ranks if collective in ("all_gather", "reduce_scatter", "alltoall") else 4
    return [size for size in sizes if size % step == 0]


def geometric_runs(sizes):
    """Splits ascending sizes into (first, last, factor), what a *_perf program takes as -b -e -f.

    >>> geometric_runs([16, 64, 256, 1000])
    [(16, 256, 4), (1000, 1000, 2)]
    """
    runs = []
    for size in sizes:
        if runs:
            first, last, factor = runs[-1]
            fits = size % last == 0 and size // last >= 2
            if fits and (first == last or size // last == factor):
                runs[-1] = (first, size, size // last)
                continue
        runs.append((size, size, 2))
    return runs
