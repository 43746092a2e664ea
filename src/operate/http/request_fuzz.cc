// Paths and queries as clients send them.
#include <cstddef>
#include <cstdint>

#include "base/core/error.h"
#include "operate/http/request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto parts = hone::path_parts(text))
    for (const std::string& p : *parts)
      HONE_BUG_IF(p.empty() || p == "." || p == ".." || p.find('/') != std::string::npos,
                  "a way out of the path");
  (void)hone::percent_decoded(text, true);
  return 0;
}
