"""SVG of the loss against the epoch from the histories FOLDER/WIDTH.csv, on standard output."""
import csv
import sys

WIDTHS = (100, 1000, 10000)
COLOURS = ("#0072b2", "#d55e00", "#009e73")  # safe for the colour-blind
LEFT, TOP, RIGHT, BOTTOM, W, H = 70, 20, 120, 45, 720, 300


def read(path):
    with open(path) as f:
        return [(int(r["epoch"]), float(r["loss"])) for r in csv.DictReader(f)]


def main(folder):
    curves = {w: read(f"{folder}/{w}.csv") for w in WIDTHS}
    last = max(e for c in curves.values() for e, _ in c)
    low = min(l for c in curves.values() for _, l in c)
    low, high = -0.1 * (int(-low * 10) + 1), 0.05
    x = lambda e: LEFT + (W - LEFT - RIGHT) * e / last
    y = lambda l: TOP + (H - TOP - BOTTOM) * (high - l) / (high - low)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" font-family="sans-serif" '
          f'font-size="13" role="img"><title>Loss against epoch for widths 100, 1,000 and 10,000</title>'
          f'<rect width="{W}" height="{H}" fill="white"/>')
    tick = 0.0
    while tick >= low - 1e-9:
        print(f'<line x1="{LEFT}" x2="{W - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#ddd"/>'
              f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.1f}</text>')
        tick -= 0.1
    for e in range(0, last + 1, 50):
        print(f'<text x="{x(e):.1f}" y="{H - BOTTOM + 18}" text-anchor="middle">{e}</text>')
    for (width, curve), colour in zip(curves.items(), COLOURS):
        points = " ".join(f"{x(e):.1f},{y(l):.1f}" for e, l in curve)
        end = y(curve[-1][1])
        print(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
              f'<text x="{W - RIGHT + 8}" y="{end + 4:.1f}" fill="{colour}">width {width:,}</text>')
    print(f'<text x="{(LEFT + W - RIGHT) / 2}" y="{H - 8}" text-anchor="middle">epoch</text>'
          f'<text x="18" y="{H / 2}" transform="rotate(-90 18 {H / 2})" text-anchor="middle">loss</text></svg>')


main(sys.argv[1])
