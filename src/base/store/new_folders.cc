#include "base/store/new_folders.h"

#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>

#include "base/core/file_descriptor.h"
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
  for (const std::string& folder : missing_) {
    const FileDescriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!open) continue;
    const bool locked = ::flock(open.get(), LOCK_EX | LOCK_NB) == 0;
    if (!locked || !file_store().remove(folder).ok())
      return;  // another process', or it holds files
  }
}

}  // namespace hone
