"""`bench/profile`: samples belong to the step whose code was running (issue 5)."""

from bench.profiling import INTAKE, LOOP, by_step, table

ROOT = "main (/x/src/remit/cli/main.py);run (/x/lib/python3.11/asyncio/runners.py)"
DOOR = f"{ROOT};_serve (/x/src/remit/doors/protocol.py)"
RUN = f"{DOOR};Pipeline.run (/x/src/remit/calls/pipeline.py)"
LINES = (
    f"{ROOT} 10",
    f"{DOOR} 20",
    f"{RUN};Limiter.__call__ (/x/src/remit/calls/limit.py);now (/x/lib/python3.11/time.py) 5",
    f"{RUN};AuditLog.record (/x/src/remit/storage/audit.py) 25",
    f"{ROOT};AuditLog.write_behind (/x/src/remit/storage/audit.py) 4",
    "worker (/x/lib/python3.11/site-packages/aiosqlite/core.py) 36",
)


def test_a_sample_counts_for_the_innermost_frame_that_has_a_step() -> None:
    found = {step: functions.total() for step, functions in by_step(LINES).items()}

    assert found == {LOOP: 10, "door": 20, "limits": 5, "journal": 25, INTAKE: 40}


def test_a_step_has_its_share_of_the_processor_time_and_names_its_functions() -> None:
    text = table(by_step(LINES), cpu=200.0, top=1)

    assert "limits          5.0%       10.0\n" in text
    assert "remit.storage.audit.AuditLog.record\n" in text
    assert text.endswith("200.0   (100 samples)")
