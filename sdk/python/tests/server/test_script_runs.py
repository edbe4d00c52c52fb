"""Scripts: submit, stream, end, details, files."""

import os
import signal
import subprocess
import sys
import threading
import zipfile

import pytest
from harness.wait import wait_for

from azureml.core import Environment, Experiment, Run, ScriptRunConfig
from azureml.exceptions import ActivityFailedException, SnapshotException, UserErrorException


def test_output_is_streamed_between_head_and_summary(run_script, capsys):
    run = run_script("for i in range(3): print('line', i, flush=True)", show_output=True)
    printed = capsys.readouterr().out
    head, body = printed.split("Streaming azureml-logs/70_driver_log.txt\n", 1)
    assert head.startswith(f"RunId: {run.id}\nWeb View: http")
    assert "========\n\nline 0\nline 1\nline 2\n" in body
    assert f"Execution Summary\n=================\nRunId: {run.id}\n" in body
    assert run.get_status() == run.status == "Completed"


def test_details_have_the_documented_shape(run_script):
    run = run_script("print('hi')", arguments=["--rate", 0.1, "--on", True, None, "--n", 3])
    details = run.get_details()
    assert details["runId"] == run.id and details["status"] == "Completed" and details["target"] == "local"
    assert details["runDefinition"]["arguments"] == ["--rate", "0.1", "--on", "True", "--n", "3"]
    assert details["runDefinition"]["script"] == "train.py"
    assert details["startTimeUtc"] <= details["endTimeUtc"]
    assert list(details["logFiles"]) == ["azureml-logs/70_driver_log.txt"]
    assert details["properties"]["azureml.runsource"] == "experiment"
    assert run.get_details_with_logs()["logFiles"]["azureml-logs/70_driver_log.txt"] == "hi\n"
    assert run.type == "azureml.scriptrun" and run.id.startswith("sdk-tests_")
    assert repr(run) == f"Run(Experiment: sdk-tests,\nId: {run.id},\nType: azureml.scriptrun,\nStatus: Completed)"


def test_a_failure_raises_with_the_last_lines(run_script, exp):
    with pytest.raises(ActivityFailedException, match="the reason at the end") as raised:
        run_script("print('begin'); raise ValueError('the reason at the end')")
    assert raised.value.error_details["error"]["message"]
    failed = next(exp.get_runs())
    assert failed.status == "Failed"
    assert failed.get_details()["error"]["error"]["code"] == "UserError"
    assert failed.wait_for_completion(raise_on_error=False)["status"] == "Failed"


def test_files_of_a_run(run_script, surroundings):
    run = run_script("""
        import os
        os.makedirs('outputs/model/variables')
        os.makedirs('logs', exist_ok=True)
        open('outputs/model/saved.pb', 'w').write('P')
        open('outputs/model/variables/v.data', 'w').write('V' * 100000)
        open('outputs/empty', 'w').close()
        open('logs/own.txt', 'w').write('own log')
        """)
    names = run.get_file_names()
    assert {"outputs/model/saved.pb", "outputs/empty", "logs/own.txt"} <= set(names)
    run.download_files(prefix="outputs/model", output_directory="./flat", append_prefix=False)
    run.download_files(prefix="outputs", output_directory="./deep")
    run.download_file("outputs/empty")
    assert (surroundings / "flat" / "variables" / "v.data").stat().st_size == 100000
    assert (surroundings / "deep" / "outputs" / "model" / "saved.pb").read_text() == "P"
    assert (surroundings / "empty").read_bytes() == b""
    with pytest.raises(UserErrorException, match="available files include"):
        run.download_file("outputs/nothing")
    with pytest.raises(UserErrorException, match=r"\.\."):
        run.download_file("../outputs/x")
    assert not [name for name in os.listdir(surroundings) if name.startswith(".lathe-")]
    assert any(path.endswith("70_driver_log.txt") for path in run.get_all_logs("logs-here"))


def test_the_snapshot_comes_back_as_a_zip(run_script, source):
    run = run_script("print(1)")
    with zipfile.ZipFile(run.restore_snapshot(path="snapshots")) as archive:
        assert archive.namelist() == ["train.py"]


def test_a_snapshot_has_the_digest_of_the_command_line(site, surroundings):
    from lathe.snapshot import take_snapshot

    folder = surroundings / "tree"
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / ".gitignore").write_text("*.log\n/out/\n")
    for name in ("a.py", "x.log", "sub/b.txt", "sub/deep/c", "é.txt", "a b", "sub.txt", "sub-x"):
        (folder / name).write_text(name)
    (folder / "a.py").chmod(0o755)
    (folder / "link").symlink_to("sub/b.txt")
    assert take_snapshot(str(folder)).digest == site.cli_json("store", "put", folder)["snapshot"]


def test_what_cannot_be_sent_is_refused_by_name(exp, config, surroundings):
    made = config("print(1)")
    os.symlink("/etc/passwd", surroundings / "src" / "out")
    with pytest.raises(SnapshotException, match="'out' points outside"):
        exp.submit(made)
    with pytest.raises(UserErrorException, match="there is no script"):
        exp.submit(ScriptRunConfig(".", "nothing.py"))
    with pytest.raises(UserErrorException, match="cannot be put on a command line"):
        exp.submit(config("print(1)", arguments=[object()]))


def test_git_is_remembered(exp, config, surroundings):
    made = config("print(1)")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q", "-b", "trunk"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(git + command, cwd=surroundings / "src", check=True)
    subprocess.run(
        git + ["remote", "add", "origin", "https://ann:secret@example.org/r.git"], cwd=surroundings / "src", check=True
    )
    run = exp.submit(made)
    found = run.get_properties()
    assert found["azureml.git.branch"] == "trunk" and len(found["azureml.git.commit"]) == 40
    assert found["azureml.git.repository_uri"] == "https://example.org/r.git"
    assert found["azureml.git.dirty"] == "False"
    run.wait_for_completion()


def test_command_goes_through_the_shell(exp, surroundings):
    (surroundings / "src").mkdir()
    config = ScriptRunConfig("src", command="echo cool && echo $((1+2))".split())
    run = exp.submit(config)
    run.wait_for_completion()
    assert run._read_text("azureml-logs/70_driver_log.txt") == "cool\n3\n"
    with pytest.raises(UserErrorException):
        ScriptRunConfig("src", script="a.py", command="b")


def test_tags_and_properties(exp, config):
    run = exp.submit(config("print(1)"), tags={"first": "1"})
    run.tag("bare")
    run.set_tags({"number": 3, "text": "x"})
    assert run.get_tags() == {"first": "1", "bare": None, "number": "3", "text": "x"}
    assert run.remove_tags(["first", "unknown"]) == {"first": "1"}
    run.add_properties({"author": "ann"})
    run.add_properties({"author": "ann"})
    with pytest.raises(Exception, match="author"):
        run.add_properties({"author": "bob"})
    assert run.properties["author"] == "ann"
    assert [found.id for found in exp.get_runs(tags={"text": "x", "number": "3"})] == [run.id]
    assert [found.id for found in exp.get_runs(tags="bare")] == [run.id]
    assert [found.id for found in exp.get_runs(properties={"author": "ann"})] == [run.id]
    assert list(exp.get_runs(tags={"text": "y"})) == []
    run.wait_for_completion()


def test_cancel_and_fail_of_a_submitted_run_do_not_raise(exp, config):
    first, second = (exp.submit(config("import time; time.sleep(600)")) for _ in range(2))
    first.cancel()
    second.fail()
    assert first.wait_for_completion()["status"] == "Canceled"
    assert second.wait_for_completion(raise_on_error=False)["status"] in ("Canceled", "Failed")


def test_a_restart_of_the_server_during_a_wait_is_silent(site, exp, config, surroundings, capsys):
    gate = surroundings / "gate"
    made = config(
        f"import os, time\nprint('one', flush=True)\nwhile not os.path.exists({str(gate)!r}): time.sleep(.05)\nprint('two')"
    )
    run = exp.submit(made)
    done = {}
    waiting = threading.Thread(target=lambda: done.update(run.wait_for_completion(show_output=True)))
    waiting.start()
    wait_for(lambda: run._view.get("status") == "Running", 30, "the start of the run")
    site.kill()
    site.start()
    gate.write_text("")
    waiting.join(60)
    assert done["status"] == "Completed"
    body = capsys.readouterr().out.split("========\n\n", 1)[1]
    assert body.startswith("one\ntwo\n")


def test_interrupting_a_wait_leaves_the_run(site, exp, config, surroundings):
    gate = surroundings / "gate"
    run = exp.submit(config(f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(.05)"))
    program = f"from azureml.core import Workspace, Run\nRun.get(Workspace.get('sdk-tests'), {run.id!r}).wait_for_completion(True)"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    waiter = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert waiter.stdout.readline().startswith(b"RunId:")
        # Where it waits: in the middle of an import Python itself may lose an interrupt.
        assert any(line.startswith(b"Streaming") for line in iter(waiter.stdout.readline, b""))
        waiter.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in waiter.communicate(timeout=30)[1]
    finally:
        waiter.kill()
        gate.write_text("")
    assert run.wait_for_completion()["status"] == "Completed"


def test_reattach_and_lists(ws, exp, run_script):
    run = run_script("print(1)")
    assert Run(exp, run.id).get_status() == "Completed"
    assert ws.get_run(run.id).experiment.name == "sdk-tests"
    assert next(exp.get_runs()).id == run.id
    assert [found.name for found in Experiment.list(ws, "sdk-tests")] == ["sdk-tests"]
    assert Experiment.list(ws, "no-such-experiment") == []


def test_later_features_say_so(ws, exp, config):
    from azureml.core import Webservice
    from azureml.core.runconfig import MpiConfiguration
    from azureml.train.hyperdrive import choice

    with pytest.raises(NotImplementedError, match="distributed jobs"):
        exp.submit(config("print(1)", distributed_job_config=MpiConfiguration(node_count=2)))
    with pytest.raises(NotImplementedError, match="HyperDrive"):
        choice(1, 2)
    with pytest.raises(NotImplementedError, match="web services"):
        Webservice(ws, "x")
    with pytest.raises(NotImplementedError, match="MLflow"):
        ws.get_mlflow_tracking_uri()


def test_environment_of_a_run(exp, config):
    env = Environment("my-packages")
    env.python.conda_dependencies.add_pip_package("colorama==0.4.4")
    env.environment_variables["OWN"] = "value"
    run = exp.submit(config("import os; print(os.environ['OWN'], os.environ['EXAMPLE_ENV_VAR'])", environment=env))
    run.wait_for_completion()
    assert run._read_text("azureml-logs/70_driver_log.txt") == "value EXAMPLE_VALUE\n"
    found = run.get_environment()
    assert found.name == "my-packages" and "colorama==0.4.4" in found.python.conda_dependencies.serialize_to_string()
    assert run.get_details()["runDefinition"]["environment"]["name"] == "my-packages"


def test_submitting_while_the_server_is_away_makes_one_run(site, exp, config):
    made = config("print('once')")
    site.kill()
    result = {}
    submitting = threading.Thread(target=lambda: result.update(run=exp.submit(made, tags={"away": "yes"})))
    submitting.start()
    site.start()
    submitting.join(60)
    assert result["run"].wait_for_completion()["status"] == "Completed"
    assert [run.id for run in exp.get_runs(tags={"away": "yes"})] == [result["run"].id]


def test_a_lost_answer_to_a_submit_makes_no_second_run(exp, config, monkeypatch):
    """The first answer is thrown away after the server has acted, as a broken connection would."""
    from azureml._internal.api import Api

    sent, begin = [], Api._begin

    def lossy(self, method, path, *more):
        response = begin(self, method, path, *more)
        if method == "POST" and path.endswith("/runs"):
            sent.append(path)
            if len(sent) == 1:
                response.read()
                raise ConnectionResetError("the answer was lost")
        return response

    monkeypatch.setattr(Api, "_begin", lossy)
    run = exp.submit(config("print('once')"), tags={"lost": "answer"})
    assert len(sent) == 2
    assert [found.id for found in exp.get_runs(tags={"lost": "answer"})] == [run.id]
    run.wait_for_completion()


def test_errors_are_of_the_known_classes_whatever_the_way(ws, exp):
    from azureml.exceptions import AzureMLException, ServiceException

    with pytest.raises(ServiceException, match="no-such-run") as raised:
        Run(exp, "no-such-run")
    assert raised.value.status_code == 404
    with pytest.raises(AzureMLException):
        with ws._api.stream("GET", ws._path("runs", "no-such-run", "logs")):
            pass
    with pytest.raises(UserErrorException):
        ws._api.post(ws._path("runs"), {"id": "x"})


def test_the_longest_name_of_an_experiment(ws, config):
    run = Experiment(ws, "e" * 255).submit(config("print(1)"))
    assert len(run.id) <= 256
    run.wait_for_completion()
    with pytest.raises(UserErrorException, match="name of an experiment"):
        Experiment(ws, "e" * 256)
