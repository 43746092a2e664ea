// Any bytes as dataset_dict.json and state.json: names inside the folder or an error.
#include <cstdint>

#include "learn/data/rows/dataset_folder.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& names : {splits_of_text(text, "x"), files_of_text(text, "x")}) {
    if (!names.ok()) continue;
    for (const std::string& name : *names)
      if (name.empty() || name == ".." || name.find('/') != std::string::npos) __builtin_trap();
  }
  return 0;
}
