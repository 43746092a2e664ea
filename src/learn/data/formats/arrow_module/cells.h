// One value of an Arrow array as a cell of the C interface.
#pragma once

#include <arrow/api.h>

#include <string>
#include <vector>

#include "learn/data/formats/arrow_module.h"

// Memory that a cell points to, kept until the next row.
struct CellMemory {
  std::vector<int64_t> integers;
  std::vector<HoneArrowText> texts;
  std::string json;
};

void fill_cell(const arrow::Array& array, int64_t i, HoneArrowCell& cell, CellMemory& memory);
