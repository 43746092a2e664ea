// Any bytes as preprocessor_config.json: an Error, or sizes and numbers in range.
#include <cmath>

#include "learn/images/processor.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!json.ok()) return 0;
  const auto p = read_processor(*json, "fuzz.json");
  if (!p.ok()) {
    HONE_BUG_IF(p.error().text().empty(), "an error without text");
    return 0;
  }
  HONE_BUG_IF(p->width < 1 || p->height < 1 || p->edge < 0 || p->resize_width < 1,
              "a size out of range");
  HONE_BUG_IF(!std::isfinite(p->rescale), "a scale that is not finite");
  return 0;
}
