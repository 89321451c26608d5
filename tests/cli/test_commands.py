"""What all commands share: help that fits a terminal, one sentence for bad input, pipes, a fast start."""

import subprocess
import sys

import setloss
from helpers.children import printed, python
from helpers.command_line import complaint, run

HEAVY = ("numba", "torch", "dask", "matplotlib", "sklearn", "pandas", "skops", "scipy.optimize")
COMMANDS = ("decompose", "check", "explore", "train", "predict", "evaluate")


def test_an_unknown_command_is_one_sentence_too():
    assert "decomposse" in complaint("decomposse")


def test_version_and_help():
    assert run("--version").stdout == f"setloss {setloss.__version__}\n"
    assert "decompose" in run("").stdout
    for arguments in ("--help", "decompose --help", "check -h"):
        assert "Exit codes: 0 fine, 2 bad input" in run(arguments).stdout


def test_the_program_starts_without_the_heavy_libraries():
    script = (
        "import sys; from typer.testing import CliRunner; from setloss.cli import app\n"
        "for line in ('--help', 'decompose --loss curve1 --size 9', 'check --loss dice --pos 2 --neg 3'):\n"
        "    assert CliRunner().invoke(app, line.split()).exit_code == 0\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert printed(script) == "[]"


def test_packages_need_no_import_of_their_own():
    assert printed("import setloss; print(setloss.io.read.__name__, setloss.estimators.__name__)").startswith("read")


def test_ctrl_c_during_the_imports_is_no_traceback():
    script = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'setloss.cli.train': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from setloss.cli import main\n"
    )
    done = python(script)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_reader_that_has_seen_enough_is_no_error():
    line = f"{sys.executable} -m setloss decompose --loss curve1 --size 9 | true"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    assert not any(word in done.stderr for word in ("Traceback", "Broken", "written"))
