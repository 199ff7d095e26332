"""`docs/benchmarks.md` and its charts, out of what was measured, and nothing else."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.charts import Group, bars
from bench.results import CALL, DENIED, LIST, SPREAD, Cell, Results
from bench.verdicts import start_of, verdicts

PAGE, CHARTS = "benchmarks.md", "benchmarks"
"""In the folder of the docs: the page, and the folder of its charts."""

HERE = Path(__file__).parent


def write(results: Results, docs: Path) -> None:
    """Write the page and its charts into *docs*."""
    (docs / CHARTS).mkdir(exist_ok=True)
    for name, chart in charts(results).items():
        (docs / CHARTS / name).write_text(chart)
    (docs / PAGE).write_text(page(results))


def page(results: Results) -> str:
    """Return the text of the page."""
    parts = [
        (HERE / "page_head.md").read_text(),
        _machine(results),
        "## What must be shown\n",
        shown(results),
        "## Calls\n",
        *(_image(name) for name in ("calls.svg", "latency.svg", "cpu.svg")),
        _calls(results),
        "## Lists\n",
        _image("lists.svg"),
        _lists(results),
        _special(results),
        "## Start and memory\n",
        _lives(results),
        "## Targets\n",
        _targets(results),
        (HERE / "page_method.md").read_text(),
    ]
    return "\n".join(part for part in parts if part)


def shown(results: Results) -> str:
    """Return the table of verdicts."""
    rows = [(one.what, one.target, one.measured, one.verdict) for one in verdicts(results)]
    return table(("what", "target", "measured", "verdict"), rows, numbers=0)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int) -> str:
    """Return a Markdown table whose last *numbers* columns are figures."""
    marks = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    lines = [head, marks, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def charts(results: Results) -> Mapping[str, str]:
    """Return the charts, by file name."""
    names = _measured(results)

    def groups(
        what: str, columns: Sequence[tuple[str, int, int]], among: Sequence[str]
    ) -> list[Group]:
        return [
            Group(
                label=name,
                values=[
                    None if (cell := results.find(name, what, conns, tools)) is None
                    else cell.middle(figure)
                    for figure, conns, tools in columns
                ],
            )
            for name in among
        ]  # fmt: skip

    listed = [name for name in names if results.find(name, LIST, 1) is not None]
    conns = (1, 16, 64)
    each = [f"{count} connection{'s' * (count > 1)}" for count in conns]
    return {
        "calls.svg": bars(
            "Calls a second (logarithmic; longer is better)",
            each,
            groups(CALL, [("rate", count, 40) for count in conns], names),
        ),
        "latency.svg": bars(
            "Microseconds of a call, 16 connections (logarithmic; shorter is better)",
            ["p50", "p95", "p99"],
            groups(CALL, [(figure, 16, 40) for figure in ("p50", "p95", "p99")], names),
        ),
        "cpu.svg": bars(
            "Microseconds of processor for a call, 16 connections (logarithmic; shorter is better)",
            ["CPU"],
            groups(CALL, [("cpu", 16, 40)], [name for name in names if name != "direct"]),
        ),
        "lists.svg": bars(
            "Lists a second, 1 connection (logarithmic; longer is better)",
            ["40 tools", "1,000 tools"],
            groups(LIST, [("rate", 1, 40), ("rate", 1, 1000)], listed),
        ),
    }


def _measured(results: Results) -> list[str]:
    return [one.name for one in results.targets if not one.failed and _any(results, one.name)]


def _any(results: Results, name: str) -> bool:
    return any(cell.target == name and cell.what == CALL for cell in results.cells)


def _machine(results: Results) -> str:
    machine = results.machine
    return (
        f"Taken {results.taken} at commit `{results.commit}`: medians of {results.rounds} rounds"
        f" of {results.seconds:g} s on {machine['cores']} cores of {machine['processor']},"
        f" {machine['memory']}, {machine['system']}, {machine['python']}.\n"
        f"{_neighbours(results)}\n"
    )


def _neighbours(results: Results) -> str:
    """Say how much of the machine others used, who are neither target nor upstream nor load."""
    cells = [cell for cell in results.cells if cell.target in {"direct", "nginx"}]
    if not cells:
        return ""
    share = max(cell.middle("foreign") for cell in cells)
    quiet = "so the machine was quiet" if share < 0.15 else "**so these figures are disturbed**"
    return f"Other programs kept {share:.2f} cores busy meanwhile, {quiet}.\n"


def _image(name: str) -> str:
    return f"![{name.partition('.')[0]}]({CHARTS}/{name})\n"


def _figures(cell: Cell) -> Sequence[str]:
    names = ("rate", "p50", "p95", "p99", "cpu")
    return [f"{cell.middle(name):,.0f}" for name in names]


_HEAD = ("a second", "p50 us", "p95 us", "p99 us", "CPU us")


def _calls(results: Results) -> str:
    cells = [cell for cell in results.cells if cell.what in {CALL, DENIED}]
    order = {name: at for at, name in enumerate(_measured(results))}
    cells.sort(key=lambda cell: (cell.what, cell.connections, order.get(cell.target, len(order))))
    rows = [
        (
            cell.target + (", denied" if cell.what == DENIED else ""),
            str(cell.connections),
            *_figures(cell),
        )
        for cell in cells
    ]
    return table(("target", "connections", *_HEAD), rows, numbers=6)


def _lists(results: Results) -> str:
    cells = sorted(
        (cell for cell in results.cells if cell.what == LIST), key=lambda cell: cell.tools
    )
    rows = [(cell.target, f"{cell.tools:,}", *_figures(cell)) for cell in cells]
    return table(("target", "tools", *_HEAD), rows, numbers=6)


def _special(results: Results) -> str:
    """Return what one stdio child, and several workers, come to."""
    text = ""
    if results.stdio:
        rows = [(name, f"{one.rps:,.0f}", f"{one.cpu:,.1f}") for name, one in results.stdio.items()]
        text += "## One stdio child, 16 callers\n\n"
        text += table(("driven by", "calls a second", "CPU us"), rows, numbers=2)
    cells = [cell for cell in results.cells if cell.what == SPREAD]
    if cells:
        text += "\n## Workers\n\n"
        rows = [(cell.target, str(cell.connections), *_figures(cell)) for cell in cells]
        text += table(("target", "connections", *_HEAD), rows, numbers=6)
    return text


def _lives(results: Results) -> str:
    rows = [
        (
            life.target,
            *(f"{start_of(of):,.0f}" for of in (life.listen, life.first_call)),
            *(f"{start_of(of):,.1f}" for of in (life.idle, life.loaded)),
        )
        for life in results.lives
    ]
    head = ("target", "listens ms", "first call ms", "MiB", "MiB after load")
    text = table(head, rows, numbers=4)
    for grown in results.growths:
        counted = zip(grown.calls, grown.resident, strict=True)
        course = [(f"{calls:,}", f"{size:.1f}") for calls, size in counted]
        text += f"\n{grown.target}, one process under load:\n\n"
        text += table(("calls", "MiB"), course, numbers=2)
    return text


def _targets(results: Results) -> str:
    rows = [
        (
            one.name,
            one.version,
            one.era,
            (f"not measured: {one.failed}" if one.failed else one.note).replace("|", "/"),
        )
        for one in results.targets
    ]
    return table(("target", "version", "era", "what"), rows, numbers=0)
