"""What is done once, before the first process serves: the tables, the catalog, the first model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rankfall.catalog import Catalog
from rankfall.errors import RankfallError
from rankfall.journal.catalogs import encode_catalog
from rankfall.journal.entries import CatalogChanged, encode
from rankfall.service.engine import Engine
from rankfall.service.items import fitting
from rankfall.service.model import policy_of
from rankfall.stores import Transaction, open_store, without_secrets
from rankfall.wire import ModelSettings, convert

FIRST = "default"


def prepare(place: str, read: Callable[[], Catalog] | None, settings: Mapping[str, Any]) -> list[str]:
    """Make the store ready to serve; what there is to say about it. ``read`` gives the catalog, if one was named."""
    engine = Engine(open_store(place))
    try:
        said = []
        catalog, first = engine.catalog, None
        if catalog is None:
            if read is None:
                raise RankfallError(
                    f"the store {without_secrets(place)} has no catalog yet; give --catalog FILE the first time"
                )
            given = read()
            catalog = fitting(given, given)
        elif read is not None:
            said.append(f"The catalog is the one in the store ({len(catalog):,} items); --catalog was not read.")
        if not engine.models:
            first = convert(ModelSettings, dict(settings))
            policy_of(first, catalog)  # raises what does not fit, before anything is written
        if engine.catalog is None:
            engine.do_now(_seed(engine, catalog))
        if first is not None:
            assert engine.catalog is not None
            policy_of(first, engine.catalog)  # which may be that of a server that was faster
            engine.do_now(engine.create(FIRST, first))
        for model in engine.models.values():
            model.warm_up()
            items, scope = len(model.catalog), model.settings.scope
            each = "" if scope == "global" else f", one for each {scope}"
            said.append(
                f"Model {model.name!r}: {model.settings.policy}{each}, {items:,} items, mode {model.settings.mode}."
            )
        return said
    finally:
        engine.close()


def _seed(engine: Engine, catalog: Catalog) -> Callable[[Transaction], None]:
    def write(tx: Transaction) -> None:
        tx.exclusive()
        if tx.first("catalog", "") is None:
            tx.append(encode(CatalogChanged(replace=True, items=encode_catalog(catalog))), "", engine.clock())

    return write
