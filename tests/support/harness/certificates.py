"""A certificate of a test's own."""

import subprocess


def make_certificate(folder, *addresses):
    """(certificate, key), good for two days, for these addresses, 127.0.0.1 and localhost."""
    names = ",".join([*(f"IP:{address}" for address in addresses), "IP:127.0.0.1", "DNS:localhost"])
    certificate, key = folder / "cert.pem", folder / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=localhost", "-addext", f"subjectAltName={names}", "-keyout", key, "-out", certificate]
    subprocess.run(words, check=True, capture_output=True)
    return certificate, key
