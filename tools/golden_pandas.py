#!/usr/bin/env python3
"""Makes tests/goldens/pandas again: one table as each pandas pickles it, and its rows as JSON.

Writes the files of the pandas that runs it; run it with pandas 1.5 (numpy < 2), 2.2 and 3.0 (with pyarrow) in
turn. pandas 1.5 also writes the state of BlockManager as pandas before 1.3 did.
"""
import collections
import copyreg
import json
import math
import pathlib
import pickle
import sys

import numpy as np
import pandas as pd

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/goldens/pandas"
FOLDER.mkdir(parents=True, exist_ok=True)
MAJOR = int(pd.__version__.split(".")[0])


def table():
    n = 3
    return pd.DataFrame({
        "text": ["a", "é\n", None],
        "n": np.array([1, -2, 2**40]),
        "m": np.array([7, 8, 9]),
        "x": [0.5, math.nan, -1e300],
        "flag": [True, False, True],
        "small": np.array([1, 2, 3], dtype=np.uint8),
        "half": np.array([0.5, 6e-8, -2], dtype=np.float16),
        "mixed": ["s", None, 2.5],
        "ids": [[1, 2], np.array([3], dtype=np.int32), []],
        "parts": [["p", "q"], {"k": [1, None]}, np.float32(0.25)],
        "whole": pd.array([1, None, 3], dtype="Int64"),
        "truth": pd.array([True, None, False], dtype="boolean"),
        "words": pd.array(["w", None, ""], dtype="string"),
        5: range(n),
    })


def plain(v):
    if v is None or v is pd.NA or (isinstance(v, (float, np.floating)) and math.isnan(v)):
        return None
    if isinstance(v, np.ndarray):
        return v.tolist()
    return v.item() if isinstance(v, np.generic) else v


def legacy(manager):
    """The state of BlockManager in pandas before 1.3."""
    blocks = [{"values": b.values, "mgr_locs": b.mgr_locs.indexer} for b in manager.blocks]
    axes = list(manager.axes)
    state = (axes, [b["values"] for b in blocks], [manager.items[b["mgr_locs"]] for b in blocks],
             {"0.14.1": {"axes": axes, "blocks": blocks}})
    return copyreg.__newobj__, (type(manager),), state


df = table()
rows = [[plain(v) for v in r] for r in df.astype(object).values.tolist()]
(FOLDER / "table.json").write_text(json.dumps({"columns": [str(c) for c in df.columns], "rows": rows}) + "\n")
for protocol in {1: (2, 5), 2: (2, 3, 4, 5), 3: (2, 5)}[MAJOR]:
    df.to_pickle(FOLDER / f"pandas{MAJOR}.protocol{protocol}.pkl", protocol=protocol)
if MAJOR == 1:
    class Pickler(pickle.Pickler):
        dispatch_table = collections.ChainMap({pd.core.internals.BlockManager: legacy}, copyreg.dispatch_table)
    with open(FOLDER / "before1.3.pkl", "wb") as f:
        Pickler(f, protocol=4).dump(df)
    pd.testing.assert_frame_equal(pd.read_pickle(FOLDER / "before1.3.pkl"), df)
if MAJOR == 2:
    # A block of every other column says slice(0, 4, 2); the second one lies in memory the other way round.
    spread = pd.DataFrame({"text": ["a", "b"], "n": [1, 2], "kind": ["x", None]})
    spread.to_pickle(FOLDER / "spread.pkl")
    spread[["kind", "n", "text"]].iloc[:, ::-1].to_pickle(FOLDER / "turned.pkl")
    # Rows picked out of order: the index is no range and is left out.
    df[["text", "n", "m"]].iloc[[2, 0]].to_pickle(FOLDER / "picked.pkl")
    pd.DataFrame({"c": pd.Categorical(["x", "y"])}).to_pickle(FOLDER / "categorical.pkl")
    pd.DataFrame({"t": ["a"], "when": pd.to_datetime(["2020-01-01"])}).to_pickle(FOLDER / "datetime.pkl")
    pd.DataFrame({"t": ["a", complex(1)]}).to_pickle(FOLDER / "complex.pkl")
    pd.Series(["a"]).to_pickle(FOLDER / "series.pkl")
if MAJOR == 3:
    pd.DataFrame({"s": pd.array(["a", None], dtype=pd.StringDtype("python", na_value=math.nan))}).to_pickle(
        FOLDER / "python_strings.pkl")
    big = pd.DataFrame({"s": ["a", "bé", None] * 4})
    big[2:9].to_pickle(FOLDER / "slice.pkl")
