// Any text as the log of a run: rows whose cells are as many as the columns.
#include "base/core/error.h"
#include "operate/monitor/run_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const RunRow& row : runs_in_log(text, "hone_log.jsonl"))
    HONE_BUG_IF(run_cells(row, 2e9).size() != run_columns().size(), "cells without a column");
  return 0;
}
