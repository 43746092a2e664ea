// Any bytes: parsed or refused with an Error; what was parsed reads back equal after a dump.
#include "base/core/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  JsonPlaces places;
  Result<Json> first = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz", &places);
  if (!first.ok()) return 0;
  std::string text = dump_json(*first, {.indent = 1});
  Result<Json> second = parse_json(text, "again");
  HONE_BUG_IF(!second.ok() || dump_json(*second, {.indent = 1}) != text, "lost in a round trip: {}",
              text);
  return 0;
}
