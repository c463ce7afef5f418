"""Help, version, and words the program does not know."""
import functools
import re

import pytest

COMMANDS = ["fit", "accumulate", "merge", "plan", "embed", "compare", "ntk", "probe", "views", "neighbours", "explore", "report", "dynamics", "learnability", "regress", "optima", "reproduce", "data",
            "completion", "version"]
# what --help must say of an option: its default as it stands in the help
DEFAULTS = {
    "fit": {"samples": "0", "scale": "auto", "width": "1000", "depth": "1", "outputs": "10", "activation": "relu",
            "loss": "linear", "similarity": "auto", "delta": "0.01", "temperature": "0.5", "epsilon": "1",
            "off-diagonal": "0.005", "invariance": "25", "variance": "25", "covariance": "1", "method": "gd",
            "rate": "1", "epochs": "100", "batch": "0", "rows": "free", "tolerance": "0", "patience": "10", "seed": "0",
            "precision": "single", "threads": "0", "memory": "0", "out": "model.npz", "every": "0", "kernel": "empirical",
            "integrator": "euler", "flow-tolerance": "1e-8", "track-points": "20", "track-every": "1",
            "weight-variance": "1", "bias-variance": "0", "last-variance": "1", "last-bias-variance": "0", "parametrisation": "ntk",
            "weights": "uniform", "views": "0", "features": "dense", "time": "10m",
            "filters": "data", "path": "auto", "landmarks": "0", "ridge": "0.01", "power": "0", "retraction": "qr",
            "norms": "features", "solver": "auto", "block": "0", "krylov": "6", "restarts": "200", "eigen-tolerance": "1e-10"},
    "merge": {"out": "sums.npz", "seed": "0", "precision": "single", "threads": "0", "memory": "0"},
    "compare": {"methods": "gd,kernel,grassmann,pca,infinite,iterate", "widths": "100,300,1000", "runs": "3",
                "tolerance": "0.1", "rate": "1", "epochs": "100", "iterations": "5", "track-points": "20",
                "test-samples": "1000", "holdout": "0.2", "out": "compare", "samples": "0", "scale": "auto", "width": "1000", "depth": "1",
                "outputs": "10", "activation": "relu", "loss": "linear", "similarity": "auto", "delta": "0.01",
                "temperature": "0.5", "epsilon": "1", "off-diagonal": "0.005", "invariance": "25", "variance": "25",
                "covariance": "1", "views": "0", "features": "dense", "time": "10m", "filters": "data", "path": "auto", "parametrisation": "ntk",
                "landmarks": "0", "ridge": "0.01", "power": "0", "retraction": "qr",
                "norms": "features", "solver": "auto", "seed": "0", "precision": "single", "threads": "0", "memory": "0"},
    "ntk": {"kernel": "empirical", "layout": "full", "from": "auto", "out": "kernel.npy", "samples": "0", "scale": "auto",
            "width": "1000", "depth": "1", "outputs": "10", "activation": "relu", "weight-variance": "1",
            "bias-variance": "0", "last-variance": "1", "last-bias-variance": "0", "parametrisation": "ntk", "seed": "0", "precision": "single", "threads": "0",
            "memory": "0"},
    "dynamics": {"time": "100", "views": "0", "way": "flow", "tolerance": "1e-10", "out": "q.npy", "embedding": "embedding.npy",
                 "samples": "0", "scale": "auto", "layers": "2", "width": "0", "outputs": "2", "activation": "linear",
                 "constraint": "grassmann", "retraction": "qr", "rate": "0.01", "decay": "1", "radius": "1",
                 "seed": "0", "precision": "double", "threads": "0", "memory": "0"},
    "learnability": {"kernel": "analytic", "depth": "1", "activation": "relu", "train": "0", "ridge": "0", "noise": "0",
                     "measure": "0", "modes": "65536", "samples": "0", "scale": "auto", "weight-variance": "1",
                     "bias-variance": "0", "last-variance": "1", "last-bias-variance": "0", "seed": "0", "precision": "single",
                     "threads": "0", "memory": "0"},
    "regress": {"method": "ridge", "kernel": "analytic", "test-samples": "0", "ridge": "0", "noise": "0", "time": "0", "rate": "0",
                "epochs": "1000", "out": "predictions.npy", "samples": "0", "scale": "auto", "width": "1000", "depth": "1",
                "outputs": "10", "activation": "relu", "weight-variance": "1", "bias-variance": "0", "last-variance": "1", "last-bias-variance": "0",
                "parametrisation": "ntk",
                "seed": "0", "precision": "single", "threads": "0", "memory": "0"},
    "optima": {"activation": "relu", "weights": "uniform", "starts": "100", "nodes": "1", "search": "power", "shift": "1", "rate": "0.5",
               "iterations": "5000", "settle": "1e-9", "merge": "0.05", "step": "0.1", "directions": "8", "push": "0.05",
               "pushes": "8", "samples": "0", "scale": "auto", "seed": "0", "precision": "single", "threads": "0",
               "memory": "0"},
    "embed": {"model": "model.npz", "out": "embedding.npy", "samples": "0", "scale": "auto", "seed": "0",
              "precision": "single", "threads": "0", "memory": "0"},
    "probe": {"probe": "linear", "standardise": "auto", "holdout": "0.2", "ridge": "1e-4", "penalty": "auto", "cost": "0.01",
              "tolerance": "1e-4", "iterations": "1000", "neighbours": "20", "temperature": "0.07",
              "uniformity-points": "10000", "seed": "0", "precision": "single", "threads": "0", "memory": "0"},
    "views": {"views": "3", "outputs": "64", "ridge": "0.01", "samples": "0", "scale": "auto", "features": "dense", "time": "10m",
              "filters": "data", "seed": "0", "precision": "single", "threads": "0", "memory": "0"},
    "neighbours": {"k": "10", "metric": "cosine", "out": "neighbours.npy", "seed": "0", "precision": "single", "threads": "0",
                   "memory": "0"},
    "explore": {"out": "map.html", "metric": "cosine", "neighbours": "10", "clusters": "0", "steps": "400",
                "probe": "linear,knn", "probe-points": "20000", "samples": "0", "scale": "auto", "seed": "0", "precision": "single",
                "threads": "0", "memory": "0"},
    "report": {"out": "report"},
    "reproduce": {"out": "reproduce", "seed": "0", "precision": "single", "threads": "0", "memory": "0"},
    "data": {"samples": "0", "scale": "auto", "seed": "0", "precision": "single", "threads": "0", "memory": "0"},
    "completion": {},
    "version": {},
}
# options of interface.md without a default value
OTHERS = {
    "merge": "partial json progress",
    "fit": "from alpha data labels image strict pairs augment anchors positives negatives input-scale init layers biases track history checkpoint "
           "resume json progress frozen explain",
    "embed": "data labels image strict labels-out normalise json progress",
    "compare": "quick test test-labels data labels image strict pairs augment anchors positives negatives input-scale init layers biases frozen json progress",
    "ntk": "data data2 labels image strict drift explain input-scale init layers biases json progress",
    "probe": "embedding labels test-embedding test-labels positives out json progress",
    "views": "augment report data labels image strict json progress",
    "neighbours": "embedding query distances json progress",
    "explore": "embedding images text colour data labels image strict json progress",
    "report": "json progress",
    "reproduce": "kept quick paper list all json progress",
    "dynamics": "times compare matrix q0 trajectory basis embed report data labels image strict pairs augment anchors positives "
                "negatives json progress",
    "learnability": "kernel-matrix input-scale trains target out report data labels image strict json progress",
    "regress": "targets test test-targets test-labels kernel-matrix test-kernel test-diagonal centre from-zero variance data labels "
               "image strict input-scale init layers biases json progress",
    "optima": "alpha ball data labels image strict augment anchors positives out report json progress",
    "data": "data labels image strict out labels-out yes json progress",
    "completion": "json progress",
    "version": "json progress",
}

DEFAULTS["fit"]["method"] = "auto"
for command in OTHERS:
    OTHERS[command] += " config"
# what takes data takes tables; probe takes labels from them
DEFAULTS["probe"]["samples"] = "0"
for command in DEFAULTS:
    if "scale" in DEFAULTS[command] or command == "probe":
        DEFAULTS[command]["missing"] = "mean"
        OTHERS[command] += " label-column columns drop"
# plan takes what fit takes of features, network and run
DEFAULTS["plan"] = {o: DEFAULTS["fit"][o] for o in ("features", "time", "filters", "width", "depth", "outputs", "activation",
                                                    "parametrisation", "seed", "precision", "threads", "memory")}
DEFAULTS["plan"].update({"method": "whitened", "solver": "auto", "points": "1e6", "views": "2", "dimension": "784", "epochs": "100", "nodes": "1",
                         "ranks": "0", "hours": "24", "view-cost": "2e-5", "network": "1G"})
OTHERS["plan"] = "image input-scale layers biases init config json progress"
# accumulate takes what fit takes, but for files
DEFAULTS["accumulate"] = {**DEFAULTS["fit"], "method": "whitened", "out": "part.npz", "shard": "1/1"}
del DEFAULTS["accumulate"]["every"]
OTHERS["accumulate"] = " ".join(o for o in OTHERS["fit"].split()
                                if o not in ("from", "history", "checkpoint", "resume", "explain"))


@pytest.fixture(scope="module")
def help_of(run_in, tmp_path_factory):
    """Command -> its help, asked for once."""

    @functools.cache
    def text(command):
        code, out, err = run_in(tmp_path_factory.mktemp("help"), "help", command)
        assert (code, err) == (0, "")
        return out

    return text


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"]])
def test_alone_shows_how_to_start(good, words):
    """Someone who knows nothing sees every command and two lines to copy."""
    out = good(*words)
    assert all(f"eigenpair {c} " in out for c in COMMANDS)
    assert re.search(r"^ +eigenpair fit .*--out", out, re.M) and re.search(r"^ +eigenpair embed --model", out, re.M)


def test_the_first_lines_shown_work(good, tmp_path):
    """The two lines to copy do what they promise."""
    lines = re.findall(r"^ +eigenpair ((?:fit|embed) --.*)$", good(), re.M)
    assert len(lines) == 2
    for line in lines:
        good(*line.split(), *(["--width", 32, "--samples", 50, "--epochs", 2] if line.startswith("fit") else []))
    assert (tmp_path / "embedding.npy").exists()


def test_version(good):
    """Scripts read the version from one line."""
    assert re.fullmatch(r"eigenpair \d+\.\d+\.\d+\n", good("--version"))
    assert good("fit", "--data", "digits", "--version") == good("--version")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_the_same_both_ways(good, command):
    """`help CMD` and `CMD --help` are one text, with a worked example."""
    out = good("help", command)
    assert out == good(command, "--help") == good(command, "--data", "x", "-h")
    assert out.startswith(f"eigenpair {command}: ")
    assert re.search(rf"^ +eigenpair {command} \S", out, re.M)


@pytest.mark.parametrize("command, option, default",
                         [(c, o, d) for c, table in DEFAULTS.items() for o, d in table.items()])
def test_help_gives_the_default(help_of, command, option, default):
    """Every option with a default is printed with it."""
    line = re.search(rf"^  --{option} .*$", help_of(command), re.M)
    assert line and line.group().endswith(f"(default {default})")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_every_option_once(help_of, command):
    """The help lists each option that exists, none twice, and this table knows them all."""
    found = re.findall(r"^  --([a-z0-9-]+)", help_of(command), re.M)
    assert sorted(found) == sorted(list(DEFAULTS[command]) + OTHERS[command].split())


@pytest.mark.parametrize("words", [["frobnicate"], ["help", "frobnicate"], ["Fit"], [""], ["--verbose"]])
def test_unknown_command(ep, words):
    """A wrong command is one line and status 2."""
    code, out, err = ep(*words)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("eigenpair: ") and words[-1] in err


@pytest.mark.parametrize("command, wrong, right", [
    ("fit", "--widht", "--width"), ("fit", "--epoch", "--epochs"), ("fit", "--of-diagonal", "--off-diagonal"),
    ("fit", "--inputscale", "--input-scale"), ("embed", "--modle", "--model"), ("data", "--sample", "--samples"),
])
def test_did_you_mean(ep, command, wrong, right):
    """A slip of the finger is named together with what was meant."""
    code, out, err = ep(command, wrong, "3")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith(f"eigenpair {command}: ") and f"did you mean {right}?" in err


@pytest.mark.parametrize("words, part", [
    (["fti"], "did you mean fit?"), (["exlpore"], "did you mean explore?"),
    (["fit", "--method", "pac"], "did you mean pca?"), (["fit", "--loss", "sofmax"], "did you mean softmax?"),
    (["fit", "--method", "simclr"], "is a loss here: --method gd --loss ntxent"), (["fit", "--method", "VICReg"], "--method gd --loss vicreg"),
    (["fit", "--method", "rbf"], "'rbf' is not known; choose one of: auto, gd"),
])
def test_names_of_commands_and_choices(ep, words, part):
    """The same for commands and for names among which one chooses; a loss in the place of a method says how it is trained."""
    code, out, err = ep(*words)
    assert (code, out) == (2, "") and err.count("\n") == 1 and part in err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--zzzzzzzzzzzz", "--" + "w" * 300, "--=3"], ids=["odd", "long", "empty"])
def test_unknown_option(ep, command, option):
    """An option like no other is refused without a far-fetched suggestion."""
    code, out, err = ep(command, option)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith(f"eigenpair {command}: ") and "did you mean" not in err
