"""Metrics: shapes, delivery through journals, and that logging never ends a script."""

import math
import os
import subprocess
import sys

import pytest
from harness.wait import wait_for


def test_shapes_of_metrics(exp):
    with exp.start_logging(snapshot_directory=None) as run:
        run.log("once", 0.5)
        for number in range(3):
            run.log("often", number)
            run.log_row("rows", x=number, y=number * 2.0)
        run.log("text", "words")
        run.log_list("list", [1, 2, 3])
        run.log_table("table", {"a": [1, 2], "b": ["x", "y"]})
        run.log("nan", float("nan"))
        run.log("inf", [float("inf"), float("-inf")])
    found = run.get_metrics()
    assert math.isnan(found.pop("nan"))
    assert found == {
        "once": 0.5, "often": [0, 1, 2], "rows": {"x": [0, 1, 2], "y": [0.0, 2.0, 4.0]}, "text": "words", "list": [1,
        2, 3], "table": {"a": [1, 2], "b": ["x", "y"]}, "inf": [float("inf"), float("-inf")],
    }  # fmt: skip
    assert run.get_metrics(name="once") == {"once": 0.5}


def test_a_script_logs_through_its_journal(run_script):
    run = run_script("""
        import os, multiprocessing
        from azureml.core import Run
        run = Run.get_context()
        for i in range(1000): run.log('loss', i / 7)
        child = os.fork()
        if child == 0:
            Run.get_context().log('child', 1)
            os._exit(0)
        os.waitpid(child, 0)
        run.log('last', 'é')
        """)
    found = run.get_metrics()
    assert found["loss"] == [i / 7 for i in range(1000)]
    assert found["child"] == 1 and found["last"] == "é"


def test_what_log_returned_from_is_delivered_although_the_script_is_killed(run_script):
    text = """
        import os, signal
        from azureml.core import Run
        run = Run.get_context()
        for i in range(100): run.log('n', i)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    run = run_script(text, raise_on_error=False)
    assert run.get_status() == "Failed"
    assert run.get_metrics()["n"] == list(range(100))


def test_logging_goes_on_while_the_server_is_killed(site, exp, config, surroundings):
    gate = surroundings / "gate"
    text = f"""
        import os, time
        from azureml.core import Run
        run = Run.get_context()
        n = 0
        while not os.path.exists({str(gate)!r}):
            run.log('n', n); n += 1
            time.sleep(0.001)
        print(n)
        """
    run = exp.submit(config(text))
    wait_for(lambda: run.get_status() == "Running", 30, "the start")
    wait_for(lambda: run.get_metrics(), 30, "the first metrics")
    site.kill()
    site.start()
    gate.write_text("")
    run.wait_for_completion()
    count = int(run._read_text("azureml-logs/70_driver_log.txt"))
    assert run.get_metrics()["n"] == list(range(count))


def test_flush_inside_a_run_returns_when_the_server_has_the_metrics_and_not_before(site, exp, config, surroundings):
    text = f"""
        import os, time, warnings
        from azureml.core import Run
        def wait_for(name):
            while not os.path.exists(os.path.join({str(surroundings)!r}, name)): time.sleep(0.01)
        def say(name): open(os.path.join({str(surroundings)!r}, name), 'w').close()
        run = Run.get_context()
        run.log('n', 1)
        assert run.flush(120) is True
        say('first')
        wait_for('down')
        run.log('n', 2)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter('always')
            assert run.flush(1) is False
        assert 'not all with the server' in str(found[0].message)
        say('refused')
        assert run.flush(120) is True
        say('second')
        wait_for('end')
        """
    run = exp.submit(config(text))
    wait_for((surroundings / "first").exists, 60, "the first flush")
    assert run.get_metrics() == {"n": 1}
    site.kill()
    (surroundings / "down").touch()
    wait_for((surroundings / "refused").exists, 60, "a flush that gives up")
    site.start()
    wait_for((surroundings / "second").exists, 60, "the second flush")
    site.kill()  # what flush has told of is on disk
    site.start()
    assert run.get_metrics() == {"n": [1, 2]}
    (surroundings / "end").touch()
    run.wait_for_completion()


def test_records_that_could_not_be_written_are_counted_in_a_note_of_the_run(run_script):
    run = run_script("""
        import os, resource
        from azureml.core import Run
        run = Run.get_context()
        run.log('n', 1)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (run._journal().size() + 5, hard))
        run.log('n', 2)
        run.log('n', 3)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        run.log('n', 4)
        """)
    assert run.get_metrics() == {"n": [1, 4]}
    (note,) = [each for each in run._fetch()["notes"] if each.startswith("metrics")]
    assert "could not be written: 2 of the journal" in note and "File too large" in note


def test_a_hundred_thousand_calls_are_all_there(run_script):
    run = run_script("""
        from azureml.core import Run
        run = Run.get_context()
        for i in range(100000): run.log('n', i)
        """)
    assert run.get_metrics()["n"] == list(range(100000))


def test_trouble_with_the_journal_is_a_warning(run_script):
    run = run_script("""
        import os, shutil
        from azureml.core import Run
        run = Run.get_context()
        os.environ['LATHE_METRICS_DIR'] = os.getcwd() + '/gone'
        os.mkdir('gone')
        journal = run._journal()
        shutil.rmtree('gone')
        run.log('n', 1)
        run.log('n', 2)
        print('survived')
        """)
    log = run._read_text("azureml-logs/70_driver_log.txt")
    assert "survived" in log and "was not logged" in log


def test_images_and_matrices_become_files(exp, surroundings):
    (surroundings / "plot.png").write_bytes(b"\x89PNG")

    class Plot:
        @staticmethod
        def savefig(file):
            with open(file, "wb") as out:
                out.write(b"saved")

    run = exp.start_logging(snapshot_directory=None)
    run.complete()
    run.log_image("by path", path="plot.png")
    run.log_image("by plot", plot=Plot)
    run.log_confusion_matrix("matrix", {"schema_type": "confusion_matrix", "data": {"matrix": [[1, 2], [3, 4]]}})
    run.log_accuracy_table("accuracy", '{"data": 1}')
    found = run.get_metrics()
    for name, value in found.items():
        prefix = f"aml://artifactId/ExperimentRun/dcid.{run.id}/"
        assert value.startswith(prefix + name + "_") and value[len(prefix) :] in run.get_file_names()
    assert set(found) == {"by path", "by plot", "matrix", "accuracy"}


def test_journals_of_a_killed_notebook_are_sent_by_the_next(ws, exp, surroundings):
    run = exp.start_logging(snapshot_directory=None)
    program = f"""
import os, signal, lathe.shipping
lathe.shipping.send_rest = lambda *a: (_ for _ in ()).throw(lathe.errors.Unavailable('none'))
from azureml.core import Workspace, Run
run = Run.get(Workspace.get('sdk-tests'), {run.id!r})
run.log('n', 1); run.log('n', 2)
os.kill(os.getpid(), signal.SIGKILL)
"""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    killed = subprocess.run([sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE)
    assert killed.returncode == -9, killed.stderr
    assert run.get_metrics() == {}
    other = exp.start_logging(snapshot_directory=None)
    other.log("x", 1)
    wait_for(lambda: run.get_metrics(), 30, "the left metrics")
    assert run.get_metrics() == {"n": [1, 2]}
    wait_for(lambda: other.get_metrics(), 30, "its own metrics")


def test_recursive_metrics(exp):
    with exp.start_logging(snapshot_directory=None) as parent:
        parent.log("p", 1)
        with parent.child_run() as child:
            child.log("c", 2)
    assert parent.get_metrics(recursive=True) == {parent.id: {"p": 1}, child.id: {"c": 2}}


def test_secrets(ws, run_script):
    vault = ws.get_default_keyvault()
    vault.set_secrets({"first": "one", "second": "zwölf\nlines"})
    assert vault.get_secret("second") == "zwölf\nlines" and vault.get_secret("none") is None
    assert {"name": "first"} in vault.list_secrets()
    run = run_script(
        "from azureml.core import Run\nassert Run.get_context().get_secret('first') == 'one'\nprint('read')"
    )
    assert run._read_text("azureml-logs/70_driver_log.txt") == "read\n"
    vault.delete_secrets(["first", "second"])
    assert vault.list_secrets() == []


def test_a_table_of_metrics_wants_columns(exp):
    from azureml.exceptions import UserErrorException

    run = exp.start_logging(snapshot_directory=None)
    with pytest.raises(UserErrorException):
        run.log_table("t", [1, 2])
    with pytest.raises(UserErrorException):
        run.log_image("i")


def test_without_a_home_journals_wait_among_temporary_files(exp, surroundings, monkeypatch):
    (surroundings / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(surroundings / "file" / "below"))
    monkeypatch.setenv("TMPDIR", str(surroundings))
    monkeypatch.setattr("tempfile.tempdir", None)
    with exp.start_logging(snapshot_directory=None) as run:
        run.log("n", 1)
    assert run.get_metrics() == {"n": 1}
    assert any(name.startswith("lathe-sdk-") for name in os.listdir(surroundings))
