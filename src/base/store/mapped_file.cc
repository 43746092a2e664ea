#include "base/store/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/store/errors.h"
#include "base/store/store_failure.h"

namespace hone {
namespace {

// Ranges are never freed, so that the handler may walk them at any time; free ones are used again.
std::atomic<MappedFile::Range*> ranges = nullptr;
std::mutex ranges_mutex;
struct sigaction before {};
uintptr_t page_bytes = 4096;

// Puts zeros where the bytes are gone, to the end of the mapping, and returns to the read. Only
// system calls and atomics: it may come at any instruction of any thread.
void on_bus_error(int number, siginfo_t* info, void*) {
  const int saved = errno;
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (MappedFile::Range* r = info->si_code > 0 ? ranges.load() : nullptr; r; r = r->next) {
    const uintptr_t begin = r->begin.load(), end = r->end.load();
    if (at < begin || at >= end) continue;
    r->lost.store(true);
    void* page = reinterpret_cast<void*>(at / page_bytes * page_bytes);
    const size_t rest = end - at / page_bytes * page_bytes;
    // The bare system call: mmap() itself may be watched (sanitizers), and is not for handlers.
    if (::syscall(SYS_mmap, page, rest, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                  0) != static_cast<long>(at / page_bytes * page_bytes))
      break;
    errno = saved;
    return;
  }
  // Not ours: what would have happened without us, now or when the instruction runs again.
  ::sigaction(SIGBUS, &before, nullptr);
  if (info->si_code <= 0) ::raise(number);
  errno = saved;
}

MappedFile::Range* take_range(const void* data, size_t size) {
  static std::once_flag installed;
  std::call_once(installed, [] {
    page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGBUS, &action, &before);
  });
  const std::lock_guard lock(ranges_mutex);
  MappedFile::Range* r = ranges.load();
  while (r && r->begin.load() != 0) r = r->next;
  const bool fresh = r == nullptr;
  if (fresh) r = new MappedFile::Range;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  r->lost.store(false);
  r->end.store(begin + size);
  r->begin.store(begin);
  if (fresh) {
    r->next = ranges.load();
    ranges.store(r);
  }
  return r;
}

int64_t changed_ns(const struct stat& s) {
  return int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return store_failure(-errno, "read", path);
  struct stat info {};
  int failed = ::fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  std::shared_ptr<MappedFile> file(new MappedFile);
  if (!failed && info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      failed = errno;
    } else {
      file->data_ = static_cast<const char*>(data);
      file->size_ = size;
      file->range_ = take_range(data, size);
    }
  }
  ::close(fd);
  if (failed) return store_failure(-failed, "read", path);
  file->path_ = path;
  file->device_ = info.st_dev;
  file->inode_ = info.st_ino;
  file->changed_ns_ = changed_ns(info);
  return std::shared_ptr<const MappedFile>(std::move(file));
}

MappedFile::~MappedFile() {
  if (!range_) return;
  const std::lock_guard lock(ranges_mutex);
  range_->begin.store(0);
  ::munmap(const_cast<char*>(data_), size_);
}

Status MappedFile::check_unchanged() const {
  struct stat now {};
  const bool there =
      ::stat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
  std::string how;
  if (there && static_cast<size_t>(now.st_size) != size_)
    how = fmt::format("has {} bytes now and had {} when reading it began", now.st_size, size_);
  else if (there && changed_ns(now) != changed_ns_)
    how = "was written to while it was being read";
  else if (lost())
    how = "was cut short, or its disk or server lost it, while it was being read";
  else
    return Ok{};
  return Error(err::kFileChanged, fmt::format("'{}' {}", path_, how))
      .todo(
          "put the file back as it was, or make it again, and type the same command; training "
          "continues from its last checkpoint");
}

}  // namespace hone
