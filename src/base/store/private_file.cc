#include "base/store/private_file.h"

#include <filesystem>

#include "base/core/url.h"
#include "base/store/store.h"

namespace hone {

void close_to_others(const std::string& path) {
  if (is_url(path)) return;
  std::error_code failed;  // a file system without permissions
  std::filesystem::permissions(path, std::filesystem::perms::others_all,
                               std::filesystem::perm_options::remove, failed);
}

Status make_run_folder(const std::string& path) {
  const bool is_new = !is_url(path) && !HONE_TRY(file_store().exists(path));
  HONE_TRY(file_store().make_dirs(path));
  if (is_new) close_to_others(path);
  return Ok{};
}

}  // namespace hone
