// Lists the golden models in tests/goldens. The parity tests run on all golden models in these lists, so a new golden
// model needs no registration.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

// The names of the folders in tests/goldens/`shelf` whose golden.json has the key, sorted. Decoders and encoders have
// the key "sequences", encoder-decoders "sources".
inline std::vector<std::string> goldens_with(const std::string& shelf, const std::string& key) {
  std::vector<std::string> names;
  const std::string root = std::string(HONE_SOURCE_DIR) + "/tests/goldens/" + shelf;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    std::ifstream file(entry.path() / "golden.json");
    if (file && nlohmann::json::parse(file).contains(key))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hone
