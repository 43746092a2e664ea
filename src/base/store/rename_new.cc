#include "base/store/rename_new.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

namespace hone {

int64_t rename_new(Disk& disk, const std::string& from, const std::string& to) {
  if (&disk != &machine_disk()) {
    Disk::Stat there;
    return disk.stat(to, there) >= 0 ? -EEXIST : disk.rename(from, to);
  }
  // Every file system without links, or without the flag, has the other.
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  if (::link(from.c_str(), to.c_str()) != 0) return -errno;
  return ::unlink(from.c_str()) == 0 ? 0 : -errno;
}

}  // namespace hone
