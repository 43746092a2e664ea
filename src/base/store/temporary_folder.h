// For tests: a folder of this machine that goes with its object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace hone {

struct TemporaryFolder {
  std::string path = (std::filesystem::temp_directory_path() / "hone_test_XXXXXX").string();
  TemporaryFolder() { path = ::mkdtemp(path.data()) ? path : ""; }
  ~TemporaryFolder() {
    if (!path.empty()) std::filesystem::remove_all(path);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
};

}  // namespace hone
