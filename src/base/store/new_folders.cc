#include "base/store/new_folders.h"

#include <filesystem>

#include "base/core/url.h"
#include "base/store/store.h"

namespace hone {

NewFolders::NewFolders(const std::string& folder) {
  if (is_url(folder)) return;
  std::filesystem::path path(folder);
  if (!path.has_filename()) path = path.parent_path();  // "out/"
  for (; !path.empty() && !path_exists(path.string()); path = path.parent_path())
    missing_.push_back(path.string());
}

NewFolders::~NewFolders() {
  for (const std::string& folder : missing_)
    if (is_folder(folder) && !file_store().remove(folder).ok()) return;  // it holds files
}

}  // namespace hone
