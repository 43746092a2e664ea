// Headers of data sets and their globs from outside, for libFuzzer.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/core/text.h"
#include "learn/datasets/card.h"

// The README.md, and its lines as the names of files.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> files = hone::split(text, '\n');
  if (files.size() > 100) files.resize(100);
  (void)hone::default_patterns(files);
  (void)hone::common_format(files);
  hone::Result<hone::DatasetCard> card = hone::parse_card(text, "README.md");
  if (!card.ok()) return 0;
  (void)hone::choose_config(*card, "", "fuzz");
  for (const hone::DatasetConfig& c : card->configs) {
    if (!c.data_files) continue;
    for (const auto& [split, globs] : *c.data_files) {
      for (const std::string& glob : globs) (void)hone::matching_files(glob, files);
    }
  }
  return 0;
}
