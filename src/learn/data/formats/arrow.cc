// .arrow, .feather, .ipc: Arrow's file format and its stream format, told apart by the first bytes.
// Files that the `datasets` library writes are streams.
#include "learn/data/formats/arrow_rows.h"

namespace hone {

Format format_arrow() {
  return {"arrow",
          {"arrow", "arrows", "feather", "ipc"},
          "Arrow's file and stream format, as the datasets library writes",
          [](std::unique_ptr<Source> source, const RowOptions&) {
            return open_arrow_rows(kHoneArrowIpc, std::move(source));
          }};
}

}  // namespace hone
