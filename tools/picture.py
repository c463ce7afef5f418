"""SVG of max |K(t) - K(0)| against the epoch from the histories FOLDER/WIDTH.csv, on standard output."""
import csv
import math
import sys

WIDTHS = (100, 1000, 10000)
COLOURS = ("#d55e00", "#0072b2", "#009e73")  # safe for the colour-blind
LEFT, TOP, RIGHT, BOTTOM, W, H = 80, 20, 120, 45, 720, 320


def read(path):
    with open(path) as f:
        rows = [(int(r["epoch"]), float(r["ntk_max"])) for r in csv.DictReader(f)]
    return [(e, d) for e, d in rows if d > 0 and e % 5 == 0]


def main(folder):
    curves = {w: read(f"{folder}/{w}.csv") for w in WIDTHS}
    last = max(e for c in curves.values() for e, _ in c)
    low = math.floor(math.log10(min(d for c in curves.values() for _, d in c)))
    high = math.ceil(math.log10(max(d for c in curves.values() for _, d in c)))
    x = lambda e: LEFT + (W - LEFT - RIGHT) * e / last
    y = lambda d: TOP + (H - TOP - BOTTOM) * (high - math.log10(d)) / (high - low)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" font-family="sans-serif" '
          f'font-size="13" role="img"><title>Largest change of the tangent kernel against the epoch, for widths '
          f'100, 1,000 and 10,000: the wider the network, the less it moves</title>'
          f'<rect width="{W}" height="{H}" fill="white"/>')
    for k in range(low, high + 1):
        print(f'<line x1="{LEFT}" x2="{W - RIGHT}" y1="{y(10.0 ** k):.1f}" y2="{y(10.0 ** k):.1f}" stroke="#ddd"/>'
              f'<text x="{LEFT - 8}" y="{y(10.0 ** k) + 4:.1f}" text-anchor="end">{10.0 ** k:g}</text>')
    for e in range(0, last + 1, 50):
        print(f'<text x="{x(e):.1f}" y="{H - BOTTOM + 18}" text-anchor="middle">{e}</text>')
    for (width, curve), colour in zip(curves.items(), COLOURS):
        points = " ".join(f"{x(e):.1f},{y(d):.1f}" for e, d in curve)
        print(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
              f'<text x="{W - RIGHT + 8}" y="{y(curve[-1][1]) + 4:.1f}" fill="{colour}">width {width:,}</text>')
    middle = (TOP + H - BOTTOM) / 2
    print(f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 8}" text-anchor="middle">epoch</text>'
          f'<text x="18" y="{middle}" transform="rotate(-90 18 {middle})" text-anchor="middle">'
          f'max |K(t) − K(0)|</text></svg>')


main(sys.argv[1])
