#include "learn/train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/store/store.h"
#include "learn/train/errors.h"

namespace hone {

Result<RunLock> RunLock::take(const std::string& folder) {
  HONE_TRY(file_store().make_dirs(folder));
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder that cannot be opened: the next writer there says why it cannot.
  if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    (void)file_store().remove_unfinished(folder);  // they are only in the way
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
