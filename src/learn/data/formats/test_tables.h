// Helpers for the tests of formats: read all rows of a reader, and turn expected values from JSON files into cells.
#pragma once

#include <gtest/gtest.h>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"

namespace hone {

// All rows of a file: lines[i] is Row::line of rows[i]; `error` is the text of the error that ended the reading, or "".
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
  std::vector<int64_t> lines;
  std::string error;
};

// Reads all rows. Also seeks back to each row, reads it a second time and expects it to be the same.
inline Table read(Result<std::unique_ptr<RowReader>> opened) {
  Table table;
  if (!opened.ok()) {
    table.error = opened.error().text();
    return table;
  }
  RowReader& reader = **opened;
  Row row;
  for (;;) {
    const RowPosition at = reader.position();
    Result<bool> more = reader.next(row);
    if (!more.ok()) table.error = more.error().text();
    if (!more.ok() || !*more) break;
    table.rows.push_back(row.cells);
    table.lines.push_back(row.line);
    const RowPosition behind = reader.position();
    EXPECT_TRUE(reader.seek(at).ok());
    EXPECT_TRUE(reader.next(row).ok());
    EXPECT_EQ(row.cells, table.rows.back());
    EXPECT_EQ(row.line, table.lines.back());
    EXPECT_EQ(reader.position(), behind);
  }
  table.columns = reader.columns();
  return table;
}
// The cell that a format should return for the JSON value `v`.
inline Cell cell_of(const nlohmann::json& v) {
  if (v.is_null()) return {};
  if (v.is_string()) return v.get<std::string>();
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number_integer()) return v.get<int64_t>();
  if (v.is_number()) return v.get<double>();
  if (v.is_object()) return RawJson{v.dump()};
  if (!v.empty() && v[0].is_string()) return v.get<std::vector<std::string>>();
  return v.get<std::vector<int64_t>>();
}

}  // namespace hone
