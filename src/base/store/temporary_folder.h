// A temporary folder of this machine. Its destructor removes the folder with everything in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace hone {

struct TemporaryFolder {
  std::string path;  // "": it could not be created
  explicit TemporaryFolder(const std::string& name = "hone_test")
      : path((std::filesystem::temp_directory_path() / (name + "_XXXXXX")).string()) {
    path = ::mkdtemp(path.data()) ? path : "";
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
};

}  // namespace hone
