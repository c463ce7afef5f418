"""Completion, asked of real shells: what Tab would offer."""
import re
import shutil
import subprocess

import pytest


def offered_by_bash(script, folder, line):
    """What bash would offer at the end of the line, which it cuts into words as Readline does (= stands alone)."""
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
    code = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _eigenpair; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "-c", code, "bash", script, *words], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""
    return done.stdout.split("\n")[:-1]


def offered_by_fish(script, folder, line):
    done = subprocess.run(["fish", "--no-config", "-c", f'source {script}; complete -C "{line}"'], cwd=folder, capture_output=True,
                          text=True, timeout=60, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0 and done.stderr == ""
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


# zsh completes only on a terminal; here its script runs in zsh with the functions that it hands its offers to printing them
ZSH = r"""
compdef() { :; }; compadd() { print -l -- "$@"; }; _files() { print -l -- *(N); }; _describe() { print -l -- ${(P)2%%:*}; }
_arguments() {
  local spec value=${words[CURRENT-1]}
  for spec; do
    [[ $spec == -s ]] && continue
    print -r -- ${${spec#\*}%%[\[=:]*}
    [[ $spec == (\*|)$value=* ]] && { local action=${spec##*:}; spec=${spec#*]:*:}
      case $spec in
        \(*) print -l -- ${=${spec#\(}%\)} ;;
        \{*) eval ${${spec#\{}%\}} ;;
        _files) _files ;;
      esac; return }
  done
  [[ $spec == \*:* ]] && eval ${${spec#*\{}%\}}
}
source $1; shift; words=("$@"); CURRENT=$#; _eigenpair
"""


def offered_by_zsh(script, folder, line):
    words = line.split()
    done = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", script, *words], cwd=folder, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and done.stderr == ""
    return [o for o in done.stdout.split() if o.startswith(words[-1])]


SHELLS = {"bash": offered_by_bash, "zsh": offered_by_zsh, "fish": offered_by_fish}
CASES = [("eigenpair ex", ["explore"], ["fit"]),
         ("eigenpair fit --loss s", ["softmax", "spectral"], ["linear"]),
         ("eigenpair fit --off", ["--off-diagonal"], ["--loss"]),
         ("eigenpair embed --mod", ["--model"], ["--off-diagonal"]),
         ("eigenpair probe --embedding mine", ["mine.npy"], []),
         ("eigenpair data f", ["fetch"], ["list"]),
         ("eigenpair fit --data dig", ["digits", "digits:test"], ["mnist"]),
         ("eigenpair reproduce wide-fig", ["wide-fig1", "wide-fig3"], ["linear-fig1"])]


@pytest.fixture
def script(good, tmp_path):
    def write(shell):
        (tmp_path / "mine.npy").touch()
        (tmp_path / shell).write_text(good("completion", shell))
        return tmp_path / shell
    return write


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("line, there, not_there", CASES, ids=[c[0] for c in CASES])
def test_tab(script, tmp_path, shell, line, there, not_there):
    """Commands, options, names, data sets, claims and files."""
    assert shutil.which(shell), f"{shell} is in packages.txt"
    found = SHELLS[shell](script(shell), tmp_path, line)
    assert set(there) <= set(found) and not set(not_there) & set(found)


def test_bash_knows_every_option(script, good, tmp_path):
    """What the help lists is what Tab offers, command by command; a value behind = too."""
    path = script("bash")
    commands = re.findall(r"^  eigenpair (\w+) ", good(), re.M)
    assert set(commands) < set(offered_by_bash(path, tmp_path, "eigenpair "))
    for command in ["fit", "ntk", "explore", "merge", "completion"]:
        listed = set(re.findall(r"^  (--[a-z0-9-]+)", good("help", command), re.M))
        assert set(offered_by_bash(path, tmp_path, f"eigenpair {command} --")) == listed | {"--help"}
    assert offered_by_bash(path, tmp_path, "eigenpair fit --loss=soft") == ["softmax"]
    assert "softmax" in offered_by_bash(path, tmp_path, "eigenpair fit --loss=")


def test_numbers_and_flags_offer_nothing_wrong(script, tmp_path):
    """No file is offered for a number."""
    assert offered_by_bash(script("bash"), tmp_path, "eigenpair fit --width ") == [""]


@pytest.mark.parametrize("words", [[], ["tcsh"], ["bash", "zsh"]])
def test_other_shells(ep, words):
    code, out, err = ep("completion", *words)
    assert (code, out) == (2, "") and err.count("\n") == 1
    if len(words) < 2:
        assert "bash, zsh, fish" in err
