"""Telemetry: there is none. Nothing is ever sent to anybody.

Example: `set_diagnostics_collection(send_diagnostics=True)`
"""


def set_diagnostics_collection(
    send_diagnostics: bool = True, verbosity: int = 0, reason: str = "", path: str = ""
) -> None:
    """Prints what the vendor's prints, and collects nothing. Example: `set_diagnostics_collection(True)`"""
    print("Turning diagnostics collection {}. ".format("on" if send_diagnostics else "off"))
