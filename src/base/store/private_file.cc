#include "base/store/private_file.h"

#include <filesystem>

namespace hone {

void close_to_others(const std::string& path) {
  if (path.find("://") != std::string::npos) return;
  std::error_code failed;  // a file system without permissions
  std::filesystem::permissions(path, std::filesystem::perms::others_all,
                               std::filesystem::perm_options::remove, failed);
}

}  // namespace hone
