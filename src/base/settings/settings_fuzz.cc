// Any bytes as a settings file, YAML and JSON: an Error, or settings whose dump reads back equal.
#include "base/settings/settings.h"

namespace {
struct Example {
  using Json = hone::Json;
  using ByteSize = hone::ByteSize;
#define HONE_SETTINGS "base/settings/settings_test.def"
#include "base/settings/fields.inc"
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"fuzz.yaml", "fuzz.json"}) {
    std::vector<std::string> notices;
    Example first, second;
    Schema a("hone fuzz", ""), b("hone fuzz", "");
    first.bind(a);
    second.bind(b);
    if (!a.apply_file(text, name, notices).ok()) continue;
    std::string dumped = dump_json(a.dump());
    Status again = b.apply_file(dumped, "dump.json", notices);
    HONE_BUG_IF(!again.ok(), "a dump is refused: {}: {}", again.error().text(), dumped);
    HONE_BUG_IF(dump_json(b.dump()) != dumped, "lost in a round trip: {}", dumped);
  }
  return 0;
}
