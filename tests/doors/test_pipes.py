"""This process's own stdin and stdout hold the protocol and nothing else (T5)."""

import os
import sys
from pathlib import Path

import anyio

PROGRAM = """
import os
import anyio
from remit.doors.mcp.pipes import standard_streams

async def main():
    async with standard_streams() as (stdin, stdout):
        print("a stray print", flush=True)
        os.write(1, b"a stray write\\n")
        assert os.read(0, 1) == b""
        try:
            async for chunk in stdin:
                await stdout.send(chunk.upper())
        except anyio.BrokenResourceError:
            print("broken", flush=True)
    os.write(1, b"after")

anyio.run(main)
"""


async def test_pipes_carry_the_protocol_and_stray_output_goes_to_stderr() -> None:
    said = b"hello\n" * 200_000  # far more than a pipe holds

    with anyio.fail_after(30):
        done = await anyio.run_process([sys.executable, "-c", PROGRAM], input=said)

    assert done.stdout == said.upper() + b"after"
    assert done.stderr == b"a stray print\na stray write\n"


async def test_files_will_do_as_well(tmp_path: Path) -> None:
    said, heard = tmp_path / "said", tmp_path / "heard"
    said.write_bytes(b"hello\n" * 50_000)

    with anyio.fail_after(30), said.open("rb") as stdin, heard.open("wb") as stdout:
        await anyio.run_process([sys.executable, "-c", PROGRAM], stdin=stdin, stdout=stdout)

    assert heard.read_bytes() == b"HELLO\n" * 50_000 + b"after"


async def test_a_client_that_reads_no_more_is_noticed(tmp_path: Path) -> None:
    said = tmp_path / "said"
    said.write_bytes(b"hello\n" * 50_000)
    nobody_reads, stdout = os.pipe()
    os.close(nobody_reads)

    with anyio.fail_after(30), said.open("rb") as stdin, os.fdopen(stdout, "wb") as broken:
        done = await anyio.run_process(
            [sys.executable, "-c", PROGRAM], stdin=stdin, stdout=broken, check=False
        )

    assert b"broken" in done.stderr
