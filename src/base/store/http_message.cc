#include "base/store/http_message.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace hone {

int64_t environment_number(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  int64_t n = 0;
  const char* end = text + std::strlen(text);
  const auto [at, failed] = std::from_chars(text, end, n);
  return failed == std::errc() && at == end && n > 0 ? n : otherwise;
}

}  // namespace hone
