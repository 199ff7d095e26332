"""The socket that a gateway listens on."""

import asyncio
import socket

from remit.cli.serving import bind


async def test_the_second_half_of_an_answer_does_not_wait_for_the_first() -> None:
    # On asyncio's own loop, where programs and tests open a server.
    told: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def on_connection(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted: socket.socket = writer.get_extra_info("socket")
        told.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with bind("127.0.0.1", 0) as listener:
        async with await asyncio.start_server(on_connection, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            assert await told
            writer.close()
            await writer.wait_closed()
