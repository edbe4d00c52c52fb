"""Runs that a program drives itself: start_logging, children, offline runs."""

import os

import pytest

from azureml.core import Run
from azureml.exceptions import AzureMLException, RunEnvironmentException


def test_start_logging_makes_folders_and_keeps_what_is_written(exp, surroundings):
    (surroundings / "outputs").mkdir()
    (surroundings / "outputs" / "of-an-earlier-run").write_text("old")
    run = exp.start_logging(snapshot_directory=None)
    assert run.get_status() == "Running" and run.type is None
    (surroundings / "outputs" / "model.txt").write_text("M")
    (surroundings / "logs" / "a.log").write_text("L")
    run.upload_file("outputs/model.txt", "outputs/model.txt")
    run.complete()
    run.complete()
    assert run.get_status() == "Completed"
    assert run.get_file_names() == ["logs/a.log", "outputs/model.txt"]


def test_the_folder_is_the_snapshot(exp, surroundings):
    (surroundings / "notebook.py").write_text("1")
    with exp.start_logging() as run:
        pass
    assert run.get_details()["properties"]["ContentSnapshotId"] == run.get_snapshot_id()


def test_an_exception_inside_with_fails_the_run(exp):
    with pytest.raises(ZeroDivisionError):
        with exp.start_logging(snapshot_directory=None) as run:
            1 / 0
    details = run.get_details()
    assert details["status"] == "Failed" and "ZeroDivisionError" in details["error"]["error"]["message"]


def test_children(exp):
    with exp.start_logging(snapshot_directory=None) as parent:
        with parent.child_run("fold") as child:
            grandchild = child.child_run()
            grandchild.fail("did not converge", error_code="Diverged")
        others = parent.create_children(count=2)
        tagged = parent.create_children(tag_key="fold", tag_values=["a", "b"])
        for other in others + tagged:
            other.complete()
    assert {run.id for run in parent.get_children()} == {run.id for run in [child] + others + tagged}
    assert {run.id for run in parent.get_children(recursive=True)} >= {grandchild.id}
    assert [run.get_tags() for run in parent.get_children(tags={"fold": "b"})] == [{"fold": "b"}]
    assert child.parent.id == parent.id and parent.parent is None
    assert grandchild.get_status() == "Failed" and child.get_status() == "Completed"
    assert parent.id in [run.id for run in exp.get_runs()]
    assert child.id not in [run.id for run in exp.get_runs()]
    assert child.id in [run.id for run in exp.get_runs(include_children=True)]


def test_a_script_makes_children_and_uploads_itself(run_script):
    run = run_script("""
        from azureml.core import Run
        run = Run.get_context()
        with run.child_run('inner') as child:
            child.tag('from', 'script')
        open('plot.txt', 'w').write('plot')
        run.upload_file('plots/plot.txt', 'plot.txt')
        run.tag('kind', 'test')
        run.add_properties({'answer': 42})
        print(run.experiment.name, run.experiment.workspace.name, run.id == __import__('os').environ['AZUREML_RUN_ID'])
        run.complete()
        print('after complete')
        """)
    (child,) = run.get_children()
    assert child.get_tags() == {"from": "script"} and child.get_status() == "Completed"
    assert "plots/plot.txt" in run.get_file_names()
    assert run.get_tags() == {"kind": "test"} and run.properties["answer"] == "42"
    log = run._read_text("azureml-logs/70_driver_log.txt")
    assert "sdk-tests sdk-tests True" in log and "after complete" in log


def test_a_script_that_fails_itself_is_failed(run_script):
    text = "from azureml.core import Run\nRun.get_context().fail('the data is wrong')\nprint('not reached')"
    run = run_script(text, raise_on_error=False)
    assert run.get_status() == "Failed"
    log = run._read_text("azureml-logs/70_driver_log.txt")
    assert "the data is wrong" in log and "not reached" not in log


def test_outside_of_a_run_the_context_is_offline(monkeypatch, capsys):
    from azureml.core.run import _OfflineRun

    run = Run.get_context()
    assert isinstance(run, _OfflineRun) and run.id.startswith("OfflineRun_")
    run.log("accuracy", 0.9)
    run.log_row("r", x=1)
    run.child_run().complete()
    assert "Attempted to log scalar metric accuracy:\n0.9" in capsys.readouterr().out
    assert run.get_metrics()["accuracy"] == 0.9
    with pytest.raises(RunEnvironmentException):
        Run.get_context(allow_offline=False)


def test_uploads_of_bad_names_and_files_are_refused(exp, surroundings):
    run = exp.start_logging(snapshot_directory=None)
    (surroundings / "x").write_text("x")
    for name in ("../x", "a/../../x"):
        with pytest.raises(AzureMLException):
            run.upload_file(name, "x")
    with pytest.raises(AzureMLException, match="there is no file"):
        run.upload_file("outputs/x", "nothing")
    run.upload_file("outputs/ünïcode " + "n" * 200, "x")
    run.upload_folder("outputs/folder", str(surroundings))
    assert "outputs/folder/x" in run.get_file_names()
    run.upload_file("outputs/stream.txt", __import__("io").StringIO("text"))
    run.complete()
    assert run._read_text("outputs/stream.txt") == "text"
    assert os.path.exists("outputs")
