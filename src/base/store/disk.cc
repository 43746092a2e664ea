#include "base/store/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace hone {
namespace {

int64_t result(int64_t value) { return value < 0 ? -errno : value; }

class MachineDisk : public Disk {
 public:
  int64_t open(const std::string& path, Open mode) override {
    int flags = mode == Open::kRead        ? O_RDONLY
                : mode == Open::kCreateNew ? O_WRONLY | O_CREAT | O_EXCL
                                           : O_WRONLY | O_CREAT | O_APPEND;
    int64_t fd = result(::open(path.c_str(), flags | O_CLOEXEC, 0666));
    struct stat info {};
    if (fd >= 0 && ::fstat(static_cast<int>(fd), &info) == 0 && S_ISDIR(info.st_mode)) {
      ::close(static_cast<int>(fd));
      return -EISDIR;
    }
    return fd;
  }
  int64_t close(int64_t h) override { return result(::close(static_cast<int>(h))); }
  int64_t bytes(int64_t h) override {
    struct stat info {};
    return ::fstat(static_cast<int>(h), &info) < 0 ? -errno : info.st_size;
  }
  int64_t read_at(int64_t h, int64_t offset, std::span<std::byte> out) override {
    int64_t n;
    do {
      n = result(::pread(static_cast<int>(h), out.data(), out.size(), offset));
    } while (n == -EINTR);
    return n;
  }
  int64_t write(int64_t h, std::span<const std::byte> in) override {
    int64_t n;
    do {
      n = result(::write(static_cast<int>(h), in.data(), in.size()));
    } while (n == -EINTR);
    return n;
  }
  int64_t sync(int64_t h) override {
    const int64_t r = result(::fsync(static_cast<int>(h)));
    return r == -EINVAL || r == -EROFS ? 0 : r;  // a pipe or a device
  }
  int64_t stat(const std::string& path, Stat& out) override {
    struct stat info {};
    if (::stat(path.c_str(), &info) < 0) return -errno;
    out = {S_ISDIR(info.st_mode), info.st_size, !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)};
    return 0;
  }
  int64_t list(const std::string& path, std::vector<Entry>& out) override {
    DIR* dir = ::opendir(path.empty() ? "." : path.c_str());
    if (dir == nullptr) return -errno;
    errno = 0;
    while (dirent* e = ::readdir(dir)) {
      std::string name = e->d_name;
      Stat s;
      if (name == "." || name == "..") continue;
      // A link that leads nowhere is listed as an empty file.
      (void)stat(path + "/" + name, s);
      out.push_back({std::move(name), s.folder, s.bytes});
      errno = 0;
    }
    int code = errno;
    ::closedir(dir);
    return -code;
  }
  int64_t rename(const std::string& from, const std::string& to) override {
    return result(::rename(from.c_str(), to.c_str()));
  }
  int64_t unlink(const std::string& path) override { return result(::unlink(path.c_str())); }
  int64_t remove_folder(const std::string& path) override { return result(::rmdir(path.c_str())); }
  int64_t make_folder(const std::string& path) override {
    return result(::mkdir(path.c_str(), 0777));
  }
  int64_t sync_folder(const std::string& path) override {
    int fd = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -errno;
    int64_t r = result(::fsync(fd));
    ::close(fd);
    // Some network file systems cannot sync folders and order their changes themselves.
    return r == -EINVAL || r == -ENOTSUP ? 0 : r;
  }
};

}  // namespace

Disk& machine_disk() {
  static MachineDisk disk;
  return disk;
}

}  // namespace hone
