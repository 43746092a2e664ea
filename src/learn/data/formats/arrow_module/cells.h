// One value of an Arrow array as a cell of the C interface.
#pragma once

#include <arrow/api.h>

#include <string>
#include <vector>

#include "learn/data/formats/arrow_module.h"

// Memory that a cell points into. Keep it until the next row is read.
struct CellMemory {
  std::vector<int64_t> integers;
  std::vector<HoneArrowText> texts;
  std::string json;
};

// Fills `cell` from element `i` of `array`. Pointers of the cell point into `array` or `memory`.
void fill_cell(const arrow::Array& array, int64_t i, HoneArrowCell& cell, CellMemory& memory);
