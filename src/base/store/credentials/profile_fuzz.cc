// Files of profiles, as damaged as they come.
#include "base/store/credentials/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  hone::profile_of(text, "default");
  return 0;
}
