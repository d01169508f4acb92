"""Saves states a slice at a time, so that nobody waits long for it.

The writer takes copies of some states, another thread packs them, and when they are packed the writer stores them
between two batches, in one transaction. Each state is saved at its own position in the journal, so a slice needs no
other slice; what was not saved in the end is only folded again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

from rankfall.service.owners import StateCopy, in_slices
from rankfall.service.state import KnowledgeCopy, ServerState
from rankfall.stores import Checkpoint, Mark, Store

Copy: TypeAlias = StateCopy | KnowledgeCopy


@dataclass(frozen=True)
class _Slice:
    """Copies of some states, how far the journal was folded when they were made, and what becomes of them."""

    copies: Sequence[Copy]
    mark: Mark
    packed: Future[list[Checkpoint]]


class Saver:
    """Saves everything, step by step. Only the thread that writes uses it."""

    def __init__(self, store: Store, state: ServerState) -> None:
        self._store, self._state = store, state
        self._packer = ThreadPoolExecutor(1, "pack")
        self._rest: Iterator[Sequence[Copy]] | None = None
        self._slice: _Slice | None = None
        self._rebuilds = state.rebuilds

    @property
    def saving(self) -> bool:
        """Whether it has begun and is not done."""
        return self._rest is not None

    def begin(self) -> None:
        """Begin to save what was learned since it was last saved."""
        self._rest, self._slice, self._rebuilds = self._slices(), None, self._state.rebuilds
        self._state.unsaved = 0

    def _slices(self) -> Iterator[Sequence[Copy]]:
        """Of each model the states used last come first; in the end what is not the state of an owner."""
        models = list(self._state.models.values())
        yield from in_slices(
            copy for model in models for owner in model.unsaved() if (copy := model.copy_of(owner)) is not None
        )
        yield [self._state.copy_of_knowledge()]

    def step(self, *, wait: bool = False) -> None:
        """Store a slice if it is packed, and copy the next one.

        If the store fails, or has gone back in time, it is not saving any more.
        """
        if self._rebuilds != self._state.rebuilds:
            self._rest = self._slice = None
        if self._rest is None or not (self._slice is None or wait or self._slice.packed.done()):
            return
        try:
            if self._slice is not None:
                self._store_slice(self._slice)
            copies = next(self._rest, None)
            self._slice = None if copies is None else self._pack(copies)
            if copies is None:
                self._rest = None
        except BaseException:
            self._rest = self._slice = None
            raise

    def finish(self) -> None:
        """Save everything now, slice by slice."""
        while self.saving:  # what was begun is not all
            self.step(wait=True)
        self.begin()
        while self.saving:
            self.step(wait=True)

    def close(self) -> None:
        """Take no more."""
        self._packer.shutdown(wait=False)

    def _pack(self, copies: Sequence[Copy]) -> _Slice:
        return _Slice(copies, self._state.mark, self._packer.submit(lambda: [copy.checkpoint() for copy in copies]))

    def _store_slice(self, done: _Slice) -> None:
        checkpoints = done.packed.result()
        with self._store.transaction() as tx:
            kept = tx.save(checkpoints, done.mark)
        if kept:
            for copy in done.copies:
                copy.was_saved()
