"""Znodes that ended `run` once, and every later start: path -> content, and why it says nothing."""

from typing import Final

_DEEP: Final = b'{"version":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

HOSTILE: Final = {
    "/log_dir_event_notification/log_dir_event_0000000000": (
        b'{"version":1,"broker":9223372036854775808,"event":1}',
        "a number of it has more than 64 bits",
    ),
    "/brokers/ids/4294967296": (
        b'{"version":5,"host":"b1","port":9092}',
        "its name is not within 0 and 2147483647",
    ),
    "/brokers/ids/7": (
        b'{"version":5,"host":"b\\ud800","port":9092}',
        "a text of it is not Unicode",
    ),
    "/controller": (
        b'{"version":2,"brokerid":1,"timestamp":"99999999999999999999","kraftControllerEpoch":-1}',
        "its timestamp is not a whole number",
    ),
    "/migration": (
        b'{"kraft_metadata_offset":18446744073709551616,"kraft_controller_id":3000,"version":0}',
        "a number of it has more than 64 bits",
    ),
    "/controller_epoch": (b"9" * 5000, "its content is not a whole number"),
    "/admin/reassign_partitions": (_DEEP, "its content is nested deeper than 64"),
}
