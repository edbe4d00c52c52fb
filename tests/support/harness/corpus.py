"""Bad input, by kind: names and paths that have broken other systems, and documents that are not JSON."""
import json

# Never a good workspace, experiment, compute target or run id.
BAD_NAMES = [
    "", " ", ".", "..", "...", "../x", "../../../../etc/passwd", "/etc/passwd", "//host/share", "a/b", "a/../b", "./a", "a/.", "a//b",
    "..\\..\\x", "\\..\\", "C:\\x", "C:", "file:///etc/passwd", "http://127.0.0.1/", "%2e%2e%2f", "%252e%252e%252f", "..%2fx", "..;/x",
    "#../x", "a#b", "a?b", "a;b", "a&b", "a=b", "a%00b", "a\0b", "a\nb", "a\rb", "a\tb", "\x1b[31mred", "\x7f", "a ", " a", "a\u202eb",
    "a\u200bb", "\ufeffa", "\u2025", "\uff0e\uff0e\uff0f", "~", "~root", "$HOME", "${IFS}", "`id`", "$(id)", "'; DROP TABLE runs; --", '"', "'",
    "<script>alert(1)</script>", "*", "?", "|", "a|b", "-", "--help", "-rf", ".git", ".ssh", "x" * 257, "x" * 4096, "é" * 200, "💥" * 100,
    "\u0041\u030a\u0041\u030a", "null\u0000", "a:b", "a@b", "{run}", "%s%n", "\\u0000", "a,b", "a\u2028b",
]

# Never a good relative path of a file of a run.
BAD_PATHS = [
    "", "/", ".", "..", "../x", "../../../../etc/passwd", "/etc/passwd", "a/../../b", "a/..", "./a", "a/./b", "a//b", "a/", "/a", "//a",
    "outputs/../../token", "outputs/../../../lathe.db", "outputs/..", "a\0b", "\0", "x/" * 3000 + "x", "outputs/" + "x" * 5000,
]

NOT_JSON = {
    "empty": b"",
    "blank": b"   ",
    "text": b"hello",
    "cut": b'{"id": "a", "experiment": "b", "comm',
    "trailing data": b'{"id":"a"} {"id":"b"}',
    "trailing comma": b'{"id":"a",}',
    "two roots": b"{}{}",
    "byte order mark": b'\xef\xbb\xbf{"id":"a"}',
    "UTF-16": '{"id":"a"}'.encode("utf-16"),
    "NaN": b'{"priority": NaN}',
    "Infinity": b'{"priority": Infinity}',
    "1e999": b'{"priority": 1e999}',
    "2^64": b'{"priority": 18446744073709551616}',
    "2^63": b'{"priority": 9223372036854775808}',
    "leading zero": b'{"priority": 01}',
    "hexadecimal": b'{"priority": 0x10}',
    "comment": b'{"id": "a" /* no */}',
    "single quotes": b"{'id': 'a'}",
    "lone surrogate": b'{"id": "\\ud800"}',
    "reversed surrogates": b'{"id": "\\udc00\\ud800"}',
    "invalid UTF-8": b'{"id": "\xff\xfe"}',
    "overlong UTF-8": b'{"id": "\xc0\xaf"}',
    "raw NUL": b'{"id": "a\x00b"}',
    "raw newline in a string": b'{"id": "a\nb"}',
    "bad escape": b'{"id": "\\x41"}',
    "depth 100": b"[" * 100 + b"]" * 100,
    "depth 1,000,000": b"[" * 1_000_000,
    "depth in an object": b'{"a":' * 100_000,
    "root array": b"[]",
    "root null": b"null",
    "root number": b"1",
    "root string": b'"x"',
    "a million numbers": b'{"command":[' + b"1," * 1_000_000 + b"1]}",
    "a million keys": b"{" + b",".join(b'"k%d":1' % i for i in range(200_000)) + b"}",
    "a long string": b'{"id":"' + b"x" * 7_000_000 + b'"}',
    "over the body limit": b'{"id":"' + b"x" * 9_000_000 + b'"}',
}


def duplicate_keys(submit):
    """The text of a submit whose `experiment` comes twice."""
    return (json.dumps(submit)[:-1] + ', "experiment": "twice-now"}').encode()
