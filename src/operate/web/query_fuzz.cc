// Any text as the query of a request.
#include "base/core/error.h"
#include "operate/web/api.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  ApiRequest request;
  auto query = parse_query(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!query) return 0;
  request.query = std::move(*query);
  for (const auto& [key, value] : request.query) {
    HONE_BUG_IF(value.find('\0') != std::string::npos, "a value with an end inside");
    const int64_t n = request.number(key, -1, 1000);
    HONE_BUG_IF(n < -1 || n > 1000, "a number out of bounds: {}", n);
  }
  return 0;
}
