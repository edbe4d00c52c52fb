"""Compute targets under the vendor's names."""

import threading

import pytest
from harness.wait import wait_for

from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException

STATUS_KEYS = {
    "currentNodeCount", "targetNodeCount", "nodeStateCounts", "allocationState", "allocationStateTransitionTime",
    "errors", "creationTime", "modifiedTime", "provisioningState", "provisioningStateTransitionTime",
    "scaleSettings", "vmPriority", "vmSize",
}  # fmt: skip


def test_get_or_create_idiom(ws, capsys):
    with pytest.raises(ComputeTargetException, match="not found"):
        ComputeTarget(workspace=ws, name="gpu-cluster")
    config = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", min_nodes="0", max_nodes="4")
    target = ComputeTarget.create(ws, "gpu-cluster", config)
    target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
    assert capsys.readouterr().out.splitlines() == [
        "Creating", "Succeeded", "AmlCompute wait for completion finished", "",
        "Minimum number of nodes requested have been provisioned",
    ]  # fmt: skip
    found = ComputeTarget(workspace=ws, name="gpu-cluster")
    assert type(found) is AmlCompute is type(ws.compute_targets["gpu-cluster"])
    assert (found.name, found.type, found.provisioning_state) == ("gpu-cluster", "AmlCompute", "Succeeded")
    status = found.get_status().serialize()
    assert set(status) == STATUS_KEYS
    assert status["scaleSettings"] == {"minNodeCount": 0, "maxNodeCount": 4, "nodeIdleTimeBeforeScaleDown": "PT120S"}
    found.update(max_nodes=2, idle_seconds_before_scaledown=60)
    assert found.get_status().scale_settings["maxNodeCount"] == 2
    assert "name=gpu-cluster" in repr(found)
    found.delete()
    assert "gpu-cluster" not in ws.compute_targets


def test_nodes_come_with_a_run(ws, exp, config):
    target = ComputeTarget.create(ws, "scaling", AmlCompute.provisioning_configuration("STANDARD_D2_V2", max_nodes=1))
    assert target.list_nodes() == []
    run = exp.submit(config("print(1)", compute_target=target))
    assert run.wait_for_completion()["target"] == "scaling"
    assert len(target.list_nodes()) == 1
    assert target.get_status().current_node_count == 1


def test_a_run_that_waits_for_nodes_says_so(ws, exp, config, surroundings, capsys):
    target = ComputeTarget.create(ws, "one-node", AmlCompute.provisioning_configuration("machine", max_nodes=1))
    gate = surroundings / "gate"
    text = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(.05)"
    first = exp.submit(config(text, compute_target=target))
    second = exp.submit(config(text, compute_target=target))
    waiting = threading.Thread(target=lambda: second.wait_for_completion(show_output=True))
    waiting.start()
    printed = []
    wait_for(
        lambda: printed.append(capsys.readouterr().out) or "\nScaling: " in "".join(printed), 30, "the word about nodes"
    )
    assert "Streaming " not in "".join(printed)
    gate.write_text("")
    waiting.join(60)
    assert "Streaming " in capsys.readouterr().out
    assert first.wait_for_completion()["status"] == second.get_status() == "Completed"


def test_what_cannot_be_is_refused(ws):
    with pytest.raises(ComputeTargetException, match="max_nodes"):
        AmlCompute.provisioning_configuration("STANDARD_D2_V2", max_nodes="many")
    with pytest.raises(ComputeTargetException, match="NO_SUCH_SIZE"):
        ComputeTarget.create(ws, "odd", AmlCompute.provisioning_configuration("NO_SUCH_SIZE", max_nodes=1))
    with pytest.raises(TypeError):
        AmlCompute.provisioning_configuration("STANDARD_D2_V2", no_such_argument=1)


def test_sizes_are_those_of_the_server():
    import pathlib

    from azureml.core.compute import sizes

    repository = pathlib.Path(__file__).resolve().parents[4]
    own = pathlib.Path(sizes.__file__).with_name("vm_sizes.csv").read_text()
    assert own == (repository / "src" / "model" / "vm_sizes.csv").read_text()
    assert {"name", "vCPUs", "gpus", "memoryGB", "maxResourceVolumeMB"} == set(AmlCompute.supported_vmsizes(None)[0])
