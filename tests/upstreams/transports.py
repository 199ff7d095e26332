"""A transport without a socket."""

import asyncio


class TakesAll(asyncio.Transport):
    """A transport that takes everything, and takes note of being closed."""

    closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        del data

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True
