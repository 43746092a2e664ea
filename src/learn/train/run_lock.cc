#include "learn/train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/store/store.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

// What the file store calls a file until it is whole (base/store); its listings leave it out.
constexpr std::string_view kUnfinished = ".hone-tmp";

// Files that a killed process was writing: they may be as large as the model.
void remove_unfinished(const std::string& folder) {
  std::error_code wrong;
  std::vector<std::filesystem::path> found;
  for (const auto& e : std::filesystem::directory_iterator(folder, wrong)) {
    const std::string name = e.path().filename().string();
    if (name.starts_with('.') && name.ends_with(kUnfinished)) found.push_back(e.path());
  }
  for (const auto& path : found) std::filesystem::remove(path, wrong);
}

}  // namespace

Result<RunLock> RunLock::take(const std::string& folder) {
  HONE_TRY(file_store().make_dirs(folder));
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return RunLock(-1);  // whoever writes there next says why it cannot
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    remove_unfinished(folder);
  } else if (errno == EWOULDBLOCK) {
    ::close(fd);
    return Error(err::kOutputFolderTaken,
                 fmt::format("another process trains into '{}' now", folder))
        .at("--output_dir " + folder)
        .todo("wait until it ends or stop it, or name another folder");
  }
  return RunLock(fd);
}

RunLock::~RunLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace hone
