#include "learn/checkpoint/checkpoint_files.h"

#include <algorithm>

#include "base/core/text.h"

namespace hone {

Result<std::vector<Store::Entry>> checkpoint_files(const std::string& path, Store& store) {
  std::vector<Store::Entry> files;
  for (const Store::Entry& e : HONE_TRY(store.list(path))) {
    if (!e.folder) {
      files.push_back(e);
      continue;
    }
    std::vector<Store::Entry> below = HONE_TRY(checkpoint_files(path + "/" + e.name, store));
    for (Store::Entry& file : below) {
      file.name = e.name + "/" + file.name;
      files.push_back(std::move(file));
    }
  }
  return files;
}

bool is_checkpoint_file(const std::string& name) {
  const std::vector<std::string> parts = split(name, '/');
  return !parts.empty() && std::none_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part.empty() || part == "." || part == "..";
  });
}

}  // namespace hone
