# SPDX-License-Identifier: MIT
"""A bar chart as SVG: a panel per workload, a bar per participant, a logarithmic axis.

Bars carry their names and values, so there is no legend to decode. Colours come from a style sheet
inside the file that follows the reader's light or dark mode, also where the file is shown by <img>.
The file brings its own background: where a viewer ignores the style for dark mode, it stays readable.
"""
import math
from html import escape

WIDTH, COLUMNS, MARGIN, GAP = 880, 2, 20, 36
NAME, VALUE = 68, 52  # room for the participant's name and for the value behind the bar
BAR, STEP, TITLE, AXIS = 12, 17, 24, 22
HEADER = 62

STYLE = """
  text { font: 11px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #57606a; }
  .paper { fill: #ffffff; }
  .value { stroke: #ffffff; stroke-width: 3; paint-order: stroke; }
  .head { font-size: 17px; font-weight: 600; fill: #1f2328; }
  .title { font-size: 12px; font-weight: 600; fill: #1f2328; }
  .ours { font-weight: 700; fill: #0b6e99; }
  .tick { font-size: 9px; }
  .grid { stroke: #d8dee4; stroke-width: 1; }
  .peer { fill: #a9b4c0; }
  .floor { fill: none; stroke: #8c96a0; stroke-width: 1; stroke-dasharray: 3 2; }
  .weir { fill: #1491c4; }
  @media (prefers-color-scheme: dark) {
    text { fill: #9aa4af; }
    .paper { fill: #0d1117; }
    .value { stroke: #0d1117; }
    .head, .title { fill: #e6edf3; }
    .ours { fill: #58c4f0; }
    .grid { stroke: #30363d; }
    .peer { fill: #57616c; }
    .floor { stroke: #7d8791; }
    .weir { fill: #2ea9dc; }
  }
"""


def readable(value, unit):
    if unit == "ns" and value >= 1000:
        return f"{value / 1000:.3g} µs"
    if unit == "bytes":
        return f"{value:.0f} B"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g} {unit}" if unit == "ns" else f"{value:.3g}"


def decades(values):
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def panel(x, y, width, workload, bars, scale):
    """One workload: `bars` is a list of (who, value), `scale` the decades of its unit."""
    low, high = scale
    left, right = x + NAME, x + width - VALUE
    bottom = y + TITLE + len(bars) * STEP

    def at(value):
        return left + (math.log10(value) - low) / (high - low) * (right - left)

    out = [f'<text class="title" x="{x}" y="{y + 12}">{escape(workload.title)}</text>']
    for power in range(low, high + 1):
        px = at(10**power)
        out.append(f'<line class="grid" x1="{px:.1f}" x2="{px:.1f}" y1="{y + TITLE - 3}" y2="{bottom}"/>')
        label = readable(10**power, workload.unit)
        out.append(f'<text class="tick" x="{px:.1f}" y="{bottom + 11}" text-anchor="middle">{label}</text>')
    for i, (who, value) in enumerate(bars):
        top = y + TITLE + i * STEP
        # A bar at the very start of the axis would be invisible: two pixels at least.
        length = max(at(value) - left, 2)
        # Variants have a name of their own behind the underscore: weir_epoll.
        kind = who.split("_")[0] if who.startswith(("weir", "floor")) else "peer"
        text = "ours" if kind == "weir" else "name"
        out.append(f'<text class="{text}" x="{left - 6}" y="{top + 10}" text-anchor="end">{escape(who)}</text>')
        out.append(f'<rect class="{kind}" x="{left}" y="{top}" width="{length:.1f}" height="{BAR}" rx="1.5"/>')
        shown = escape(readable(value, workload.unit))
        out.append(f'<text class="value {text}" x="{left + length + 5:.1f}" y="{top + 10}">{shown}</text>')
    return out


def svg(suite, results):
    by_workload = {}
    for result in results:
        if result["value"] > 0:  # a logarithm wants it
            by_workload.setdefault(result["workload"], {})[result["who"]] = result["value"]
    shown = [w for w in suite.workloads if w.name in by_workload]
    scales = {}
    for unit in {w.unit for w in shown}:
        scales[unit] = decades([v for w in shown if w.unit == unit for v in by_workload[w.name].values()])

    width = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS
    body, y = [], HEADER
    for start in range(0, len(shown), COLUMNS):
        tallest = 0
        for column, workload in enumerate(shown[start : start + COLUMNS]):
            values = by_workload[workload.name]
            bars = [(who, values[who]) for who in suite.participants if who in values]
            x = MARGIN + column * (width + GAP)
            body += panel(x, y, width, workload, bars, scales[workload.unit])
            tallest = max(tallest, len(bars))
        y += TITLE + tallest * STEP + AXIS + 12
    higher = any(w.higher_is_better for w in shown)
    direction = "rates: longer is better" if higher else "shorter is better"
    head = [
        f'<text class="head" x="{MARGIN}" y="28">{escape(suite.title)}</text>',
        f'<text x="{MARGIN}" y="46">Logarithmic scale, {direction}. All measured in one run; '
        "the floor is a bare program without a library.</text>",
    ]
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y:.0f}" viewBox="0 0 {WIDTH} {y:.0f}" role="img">'
    label = f"<title>{escape(suite.title)}</title>"
    paper = f'<rect class="paper" width="{WIDTH}" height="{y:.0f}" rx="6"/>'
    return "\n".join([opening, label, f"<style>{STYLE}</style>", paper, *head, *body, "</svg>"]) + "\n"
