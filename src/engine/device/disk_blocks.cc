#include "engine/device/disk_blocks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/device/errors.h"

namespace hone {
namespace {

// A file without a name, or -1 with errno.
int open_unnamed(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string path = folder + "/hone-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

}  // namespace

class DiskBlocks::Block : public Memory {
 public:
  Block(DiskBlocks& blocks, std::byte* at, int64_t bytes) : blocks_(blocks) {
    data_ = at;
    bytes_ = bytes;
  }
  ~Block() override {
    const std::lock_guard lock(blocks_.mutex_);
    close(blocks_.files_.at(data_).file);
    munmap(data_, static_cast<size_t>(bytes_));
    blocks_.files_.erase(data_);
    blocks_.any_ = !blocks_.files_.empty();
  }
  Block(const Block&) = delete;

 private:
  DiskBlocks& blocks_;
};

Result<std::unique_ptr<Memory>> DiskBlocks::allocate(int64_t bytes, const std::string& folder) {
  HONE_BUG_IF(bytes <= 0 || folder.empty(), "{} bytes of disk in the folder '{}'", bytes, folder);
  const auto refused = [&](const char* what, int error) {
    return Error(err::kNoDisk, fmt::format("{}: {}", what, std::strerror(error))).at(folder);
  };
  std::error_code made;
  std::filesystem::create_directories(folder, made);
  if (made) return refused("the folder cannot be made", made.value());
  const int file = open_unnamed(folder);
  if (file < 0) return refused("no file can be made in the folder", errno);
  if (const int error = posix_fallocate(file, 0, bytes)) {
    close(file);
    return refused(fmt::format("the disk refuses a file of {} bytes", bytes).c_str(), error);
  }
  void* at = mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    close(file);
    return refused("the system refuses addresses for a file", error);
  }
  const std::lock_guard lock(mutex_);
  files_[static_cast<std::byte*>(at)] = {bytes, file, folder};
  any_ = true;
  return std::unique_ptr<Memory>(
      std::make_unique<Block>(*this, static_cast<std::byte*>(at), bytes));
}

DiskBlocks::Place DiskBlocks::place_of(const void* address) const {
  if (!any_) return {};
  const std::lock_guard lock(mutex_);
  const auto* a = static_cast<const std::byte*>(address);
  auto after = files_.upper_bound(a);
  if (after == files_.begin()) return {};
  const auto& [begin, file] = *std::prev(after);
  return a < begin + file.bytes ? Place{file.file, a - begin} : Place{};
}

bool DiskBlocks::failed() const {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

bool DiskBlocks::fail(const char* what, const Place& place, int64_t bytes) {
  const int error = errno;
  const std::lock_guard lock(mutex_);
  if (failure_) return false;
  std::string folder;
  for (const auto& [at, file] : files_)
    if (file.file == place.file) folder = file.folder;
  failure_ =
      Error(err::kDiskFails,
            fmt::format("{} bytes cannot be {} at byte {} of the run's file: {}", bytes, what,
                        place.offset, error ? std::strerror(error) : "the file is shorter"))
          .at(folder);
  return false;
}

Status DiskBlocks::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return Ok{};
}

bool DiskBlocks::read(const Place& from, void* to, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    errno = 0;
    const ssize_t got = pread(from.file, static_cast<std::byte*>(to) + done,
                              static_cast<size_t>(bytes - done), from.offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("read", {from.file, from.offset + done}, bytes - done);
    done += got;
  }
  return true;
}

bool DiskBlocks::write(const Place& to, const void* from, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    errno = 0;
    const ssize_t put = pwrite(to.file, static_cast<const std::byte*>(from) + done,
                               static_cast<size_t>(bytes - done), to.offset + done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail("written", {to.file, to.offset + done}, bytes - done);
    done += put;
  }
  return true;
}

void DiskBlocks::copy(const Copy& c) {
  const Place to = place_of(c.to), from = place_of(c.from);
  if (to.file < 0 && from.file < 0) {
    std::memcpy(c.to, c.from, static_cast<size_t>(c.bytes));
    return;
  }
  if (failed()) return;
  if (to.file < 0) {
    read(from, c.to, c.bytes);
  } else if (from.file < 0) {
    write(to, c.from, c.bytes);
  } else {
    std::array<std::byte, 65536> some;
    for (int64_t at = 0; at < c.bytes; at += std::ssize(some)) {
      const int64_t bytes = std::min<int64_t>(c.bytes - at, std::ssize(some));
      if (!read({from.file, from.offset + at}, some.data(), bytes) ||
          !write({to.file, to.offset + at}, some.data(), bytes))
        return;
    }
  }
}

void DiskBlocks::zero(void* to, int64_t bytes) {
  const Place place = place_of(to);
  if (place.file < 0) {
    std::memset(to, 0, static_cast<size_t>(bytes));
    return;
  }
  static constexpr std::array<std::byte, 65536> kZeros{};
  for (int64_t at = 0; at < bytes && !failed(); at += std::ssize(kZeros))
    write({place.file, place.offset + at}, kZeros.data(),
          std::min<int64_t>(bytes - at, std::ssize(kZeros)));
}

}  // namespace hone
