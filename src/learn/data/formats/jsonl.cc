// .jsonl: one JSON object a line; blank lines are skipped.
#include "learn/data/formats/json_rows.h"

namespace hone {

Format format_jsonl() {
  return {"jsonl",
          {"jsonl", "ndjson"},
          "one JSON object a line",
          [](std::unique_ptr<Source> source, const RowOptions&) {
            return open_json_lines(ByteReader(std::move(source)));
          },
          true};
}

}  // namespace hone
