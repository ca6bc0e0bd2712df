"""Calls within an event loop, and with streams that are not files, as in a notebook."""

import asyncio
import io
import sys
from pathlib import Path

import pytest

import mhpc
from tests.fixtures.calls import CALLS, TAXONOMY, TRUTH, VOTES, consolidate, result, show
from tests.fixtures.process_state import find_differences, process_state


def test_a_call_in_a_coroutine_leaves_the_running_loop_alone() -> None:
    expected = consolidate("auto").labels

    async def main() -> None:
        loop, before = asyncio.get_running_loop(), process_state()
        assert consolidate("auto").labels == expected
        assert asyncio.get_running_loop() is loop
        assert find_differences(before, process_state()) == {}
        await asyncio.sleep(0)

    asyncio.run(main())


def test_calls_in_threads_of_a_loop_give_the_same_and_let_the_loop_run() -> None:
    expected = [consolidate(method).labels for method in ("auto", "mhpc", "channel")]

    async def main() -> tuple[list[dict[str, list[str]]], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        results = await asyncio.gather(
            *(
                asyncio.to_thread(mhpc.consolidate, VOTES, TAXONOMY, method=method)
                for method in ("auto", "mhpc", "channel")
            )
        )
        ticking.cancel()
        return [each.labels for each in results], ticks

    found, ticks = asyncio.run(main())
    assert found == expected
    assert ticks > 1


class NotebookStream(io.TextIOBase):
    """A stream that has neither a file nor bytes below it, as in IPython."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def writable(self) -> bool:
        return True


@pytest.mark.parametrize("has_streams", [True, False], ids=["no files", "none"])
def test_streams_that_are_not_files_do_not_matter(
    has_streams: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = [NotebookStream() if has_streams else None for _ in range(2)]
    with monkeypatch.context() as patch:
        for name, stream in zip(("stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        patch.setattr(sys, "stdin", None)
        for name in ("auto", "compare", "inspect", "explain", "write"):
            CALLS[name](folder)
        mhpc.evaluate(result(), TRUTH)
        show(folder)
        with pytest.raises(mhpc.MhpcError, match="no standard output for data"):
            result().write("-", format="csv")
    assert [stream.text for stream in streams if stream] == [""] * 2 * has_streams
