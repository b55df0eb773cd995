"""Monitor after deployment whether the claim of a certificate still holds."""

from jaxcert.monitoring._claims import MonitoredClaim, claim_of, claim_of_record
from jaxcert.monitoring._monitor import Monitor
from jaxcert.monitoring._monitor_loop import init, update
from jaxcert.monitoring._monitor_state import Evidence, MonitorState, Row, evidence
from jaxcert.monitoring._task_test import TaskTest

__all__ = [
    "Evidence",
    "Monitor",
    "MonitorState",
    "MonitoredClaim",
    "Row",
    "TaskTest",
    "claim_of",
    "claim_of_record",
    "evidence",
    "init",
    "update",
]
