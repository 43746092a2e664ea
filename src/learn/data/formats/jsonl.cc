// .jsonl: one JSON object a line; blank lines are skipped. Objects over several lines and arrays, as
// in .json, are read too.
#include "learn/data/formats/json_rows.h"

namespace hone {
namespace {

Result<std::unique_ptr<RowReader>> open_jsonl(std::unique_ptr<Source> source,
                                              const RowOptions& options) {
  const std::string_view head = HONE_TRY(source->head());
  const size_t first = head.find_first_not_of("\xef\xbb\xbf \t\r\n");
  if (first != head.npos && head[first] == '[') {  // an array by the name of lines
    const Format json = HONE_TRY(find_format("x.json", {}));
    return json.open(std::move(source), options);
  }
  return open_json_values(ByteReader(std::move(source)));
}

}  // namespace

Format format_jsonl() {
  return {"jsonl", {"jsonl", "ndjson"}, "one JSON object a line", open_jsonl, true};
}

}  // namespace hone
