// Any bytes as the devkit's meta.mat: an Error, or WordNet ids.
#include "learn/data/imagenet/devkit.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto classes = classes_of_meta({reinterpret_cast<const char*>(data), size}, "meta.mat");
  if (!classes.ok()) {
    HONE_BUG_IF(classes.error().text().empty(), "an error without text");
    return 0;
  }
  for (const auto& [number, id] : *classes)
    HONE_BUG_IF(!is_wordnet_id(id), "class {} is not a WordNet id", number);
  return 0;
}
