"""Output of any kind survives, and is read from any offset by any number of clients."""

import hashlib
import sys
import threading

from harness.client import LOG

PYTHON = sys.executable


def python(text):
    return [PYTHON, "-u", "-c", text]


def test_binary_output_without_a_newline_is_kept_byte_for_byte(any_server):
    client = any_server.client()
    run = client.submit(python("import sys; sys.stdout.buffer.write(bytes(range(256)) * 5000)"))
    client.wait(run, "Completed")
    assert client.log(run) == bytes(range(256)) * 5000


def test_progress_bars_keep_their_carriage_returns(any_server):
    client = any_server.client()
    run = client.submit(python("for i in range(3): print(f'{i}/3', end='\\r', flush=True)"))
    client.wait(run, "Completed")
    assert client.log(run) == b"0/3\r1/3\r2/3\r"


def test_stdout_and_stderr_share_one_log_in_order(any_server):
    client = any_server.client()
    run = client.submit("for i in 1 2 3; do echo out $i; echo err $i >&2; done")
    client.wait(run, "Completed")
    assert client.log(run) == b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"


def test_a_run_without_output_has_an_empty_log(any_server):
    client = any_server.client()
    run = client.submit("true")
    client.wait(run, "Completed")
    assert client.log(run) == b""
    assert b"".join(client.follow(run)) == b""


def test_a_long_output_is_complete(any_server):
    client = any_server.client()
    text = "import sys\nfor i in range(200000): sys.stdout.write(f'line {i} ' + 'x' * 80 + '\\n')"
    expected = b"".join(b"line %d " % i + b"x" * 80 + b"\n" for i in range(200000))
    run = client.submit([PYTHON, "-c", text])
    got = hashlib.sha256()
    for piece in client.follow(run, timeout=120):
        got.update(piece)
    assert got.hexdigest() == hashlib.sha256(expected).hexdigest()
    client.wait(run, "Completed")
    assert client.files(run)[LOG]["size"] == len(expected)


def test_the_log_is_read_from_any_offset(any_server):
    client = any_server.client()
    run = client.submit("printf 0123456789")
    client.wait(run, "Completed")
    for offset in (0, 1, 9, 10):
        answer = client.get(client.path("runs", run, "logs"), offset=offset).expect(200)
        assert answer.body == b"0123456789"[offset:]
        assert answer.headers["lathe-log-offset"] == str(offset)
        assert b"".join(client.follow(run, offset=offset)) == b"0123456789"[offset:]
    assert client.get(client.path("runs", run, "logs"), offset=11).expect(200).body == b""


def test_the_log_is_a_file_of_the_run_and_is_read_by_range(any_server):
    client = any_server.client()
    run = client.submit("printf 0123456789")
    client.wait(run, "Completed")
    assert client.file(run, LOG).expect(200).body == b"0123456789"
    part = client.file(run, LOG, headers={"Range": "bytes=3-5"}).expect(206)
    assert part.body == b"345" and part.headers["content-range"] == "bytes 3-5/10"
    assert client.file(run, LOG, headers={"Range": "bytes=8-"}).expect(206).body == b"89"
    client.file(run, LOG, headers={"Range": "bytes=10-"}).expect(416)


def test_a_follower_that_comes_back_goes_on_where_it_was(any_server):
    client = any_server.client()
    run = client.submit(python("import time\nfor i in range(40): print(i, flush=True); time.sleep(0.02)"))
    seen = b""
    for _ in range(1000):
        before = len(seen)
        for piece in client.follow(run, offset=before):
            seen += piece
            break  # leave after each piece
        if len(seen) == before:
            break
    client.wait(run, "Completed")
    assert seen == b"".join(b"%d\n" % i for i in range(40))


def test_clients_that_follow_at_once_see_the_same_bytes(any_server):
    client = any_server.client()
    run = client.submit(python("import time\nfor i in range(50): print('line', i, flush=True); time.sleep(0.01)"))
    seen = [b""] * 4

    def follow(index):
        seen[index] = b"".join(any_server.client().follow(run))

    threads = [threading.Thread(target=follow, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == [b"".join(b"line %d\n" % i for i in range(50))] * 4


def test_a_slow_follower_does_not_hold_up_the_run(any_server):
    client = any_server.client()
    run = client.submit([PYTHON, "-c", "import sys\nfor i in range(100000): sys.stdout.write('y' * 200 + '\\n')"])
    with client.open("GET", client.path("runs", run, "logs"), {"follow": "true"}) as stalled:
        stalled.read(1)
        client.wait(run, "Completed", deadline=60)
        rest = stalled.read()
    assert 1 + len(rest) == 201 * 100000


def test_an_unknown_log_is_not_found(any_server):
    client = any_server.client()
    run = client.submit("true")
    client.wait(run, "Completed")
    assert client.get(client.path("runs", run, "logs"), name="azureml-logs/absent.txt").expect(404).error() == "not-found"
