// Where the names of kinds of points stand in a scatter, in the place of a legend.

// Of every kind that is more than a few points, the one farthest from all other kinds: the middle of its region.
export function middles(points) {
  const kinds = [...new Set(points.map((r) => r.kind))];
  return kinds.flatMap((kind) => {
    const own = points.filter((r) => r.kind === kind),
      others = points.filter((r) => r.kind !== kind);
    if (own.length < 0.02 * points.length) return [];
    const mean = (c) => own.reduce((sum, r) => sum + r[c], 0) / own.length,
      [mx, my] = [mean('x'), mean('y')];
    const clear = (r) => others.reduce((least, o) => Math.min(least, (r.x - o.x) ** 2 + (r.y - o.y) ** 2), 1);
    const score = (r) => Math.sqrt(clear(r)) - 0.8 * Math.hypot(r.x - mx, r.y - my);
    return [own.map((r) => [score(r), r]).reduce((a, b) => (b[0] > a[0] ? b : a))[1]];
  });
}

const AROUND = 10, // points around a name
  OWN = 0.8; // the share of them that has to be of its kind

// The middle of every kind, where kinds are clouds of their own and their names touch neither each other nor the edge; else
// none: a legend is clearer than a name among strangers. length(kind): pixels of its name.
export function clouds(points, length, width, height) {
  const span = (c) => {
    const all = points.map((r) => r[c]);
    return [Math.min(...all), Math.max(...all)];
  };
  const [[left, right], [low, high]] = [span('x'), span('y')];
  const at = points.map((r) => [
    (width * (r.x - left)) / (right - left || 1),
    (height * (r.y - low)) / (high - low || 1),
    r,
  ]);
  const near = (list, x, y) => [...list].sort((a, b) => Math.hypot(a[0] - x, a[1] - y) - Math.hypot(b[0] - x, b[1] - y));
  const middle = (list, c) => list.map((p) => p[c]).sort((a, b) => a - b)[list.length >> 1];
  const places = [...new Set(points.map((r) => r.kind))].map((kind) => {
    const own = at.filter((p) => p[2].kind === kind),
      [best] = near(own, middle(own, 0), middle(own, 1)),
      around = near(at, best[0], best[1]).slice(0, AROUND),
      half = length(kind) / 2;
    const alone = around.filter((p) => p[2].kind === kind).length >= OWN * around.length;
    return { best, half, fits: alone && best[0] > half && best[0] < width - half };
  });
  const apart = (a, b) => Math.abs(a.best[0] - b.best[0]) > a.half + b.half || Math.abs(a.best[1] - b.best[1]) > 18;
  const all = places.every((p, i) => p.fits && places.slice(0, i).every((q) => apart(p, q)));
  return all ? places.map((p) => p.best[2]) : [];
}
