// .parquet: text, binary, integers, numbers, true/false, lists of integers or texts; any other
// value is given as JSON.
#include "learn/data/formats/arrow_rows.h"

namespace hone {

Format format_parquet() {
  return {"parquet",
          {"parquet", "pq"},
          "Arrow's column format",
          [](std::unique_ptr<Source> source, const RowOptions&) {
            return open_arrow_rows(kHoneArrowParquet, std::move(source));
          }};
}

}  // namespace hone
