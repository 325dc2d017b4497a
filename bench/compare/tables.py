"""The text of a comparison."""

from .results import OWN
from .sizes import size_text

WIDTH = 17


def time_text(micros):
    """Three significant digits with a unit.

    >>> time_text(0.5), time_text(1234.0), time_text(2.5e6)
    ('0.50 us', '1.23 ms', '2.50 s')
    """
    for factor, unit in ((1, "us"), (1e3, "ms"), (1e6, "s")):
        amount = micros / factor
        if amount < 1000 or unit == "s":
            break
    return f"{amount:.{2 if amount < 10 else 1 if amount < 100 else 0}f} {unit}"


def cell(result):
    if result is None:
        return "-".rjust(WIDTH)
    return f"{time_text(result['time_us'])} {result['bus_gbps']:6.2f}".rjust(WIDTH)


def columns_of(rows):
    found = [name for row in rows for name in row["libraries"]]
    peers = sorted(set(found) - set(OWN))
    return [name for name in OWN if name in found] + peers


def heading(columns, references):
    names = "".join(name.rjust(WIDTH) for name in columns)
    text = (
        f"{'bytes':>6}{names}{'floor':>10}  {'best peer':<30}{'ratio':>7}{'reg.':>7}{'spread':>8}"
        f"{'of limit':>10}"
    )
    return f"{text}  {'reference':<30}{'ratio':>7}{'reg.':>7}" if references else text


def against(libraries, other, ratios):
    """Another library with its setting, and how many times faster Gyre's series are."""
    best = f"{other} ({libraries[other]['setting']})" if other else "-"
    texts = (f"{ratios[name]:.2f}x" if name in ratios else "-" for name in OWN)
    return f"{best:<30}" + "".join(text.rjust(7) for text in texts)


def line_of(row, columns, references):
    libraries = row["libraries"]
    cells = "".join(cell(libraries.get(name)) for name in columns)
    peer = against(libraries, row["best_peer"], row["ratio"])
    own = libraries.get("gyre")
    spread = f"{own['spread']:.0%}" if own else "-"
    limit = f"{row['floor_us'] / own['time_us']:.0%}" if own and row["floor_us"] else "-"
    floor = time_text(row["floor_us"]) if row["floor_us"] else "-"
    text = f"{size_text(row['bytes']):>6}{cells}{floor:>10}  {peer}{spread:>8}{limit:>10}"
    if not references:
        return text
    ratios = row.get("reference_ratio", {})
    return f"{text}  {against(libraries, row.get('best_reference'), ratios)}"


def table_text(rows):
    """The table of one collective, transport and number of ranks: `rows` of results.row_of."""
    first = rows[0]
    title = f"# {first['collective']}, {first['ranks']} ranks, {first['transport']}"
    columns = columns_of(rows)
    if not columns:
        return f"{title}: nothing could be measured\n"
    references = any("best_reference" in row for row in rows)
    lines = [line_of(row, columns, references) for row in rows]
    return "\n".join([title, heading(columns, references), *lines]) + "\n"


LEGEND = (
    "# Cells: median time of the rounds, bus bandwidth in GB/s. ratio: best peer's time / Gyre's;\n"
    "# reg.: the same for Gyre with ncclMemAlloc buffers. spread: the middle half of Gyre's rounds\n"
    "# over their median. floor: what the machine's memory and links allow; of limit: floor / Gyre's time.\n"
    "# reference: the best of the libraries that are shown without being peers, and the same ratios.\n"
)
