// Any lines of JSON as rows of instructions: rows with an answer, or an error with text.
#include <cstdint>

#include "base/store/store.h"
#include "learn/data/rows/instruction_rows.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto store = make_memory_store();
  const FileStoreInstead instead(*store);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  HONE_BUG_IF(!store->write("/rows.jsonl", text).ok(), "the store in memory is full");
  auto reader = InstructionReader::open({"/rows.jsonl"}, {}, "text");
  if (!reader.ok()) {
    HONE_BUG_IF(reader.error().text().empty(), "an error without text");
    return 0;
  }
  for (InstructionRow row;;) {
    const Result<bool> more = reader->next(row);
    if (!more.ok() || !*more) break;
    HONE_BUG_IF(row.answer.empty(), "a row without an answer");
  }
  return 0;
}
