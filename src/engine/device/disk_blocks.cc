#include "engine/device/disk_blocks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/device/errors.h"
#include "engine/plan/plan.h"

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

int64_t aligned_down(int64_t x) { return x / kDiskAlignment * kDiskAlignment; }

// All of the bytes, or how many before the system refuses (errno) or the file ends (errno 0).
template <class Call>
int64_t move_all(bool direct, int64_t bytes, Call call) {
  int64_t done = 0;
  while (done < bytes) {
    errno = 0;
    const ssize_t moved = call(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) break;
    done += moved;
    if (direct && moved % kStagingAlignment != 0) {  // the file ends there, inside of a disk block
      errno = 0;
      break;
    }
  }
  return done;
}

// Whether the file system counts blocks for that many bytes: a hole has none.
bool has_blocks_for(const struct stat& file, int64_t bytes) {
  return int64_t{file.st_blocks} * 512 >= bytes;
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

// Files of the page cache are read and written in any pieces.
std::string DiskBlocks::make_direct(File& f) const {
  if (!options_.direct) return "direct I/O is switched off";
  const int flags = fcntl(f.file, F_GETFL);
  const auto refused = [&] {
    const int error = errno;
    fcntl(f.file, F_SETFL, flags);
    return fmt::format("the file system refuses direct I/O: {}", std::strerror(error));
  };
  if (fcntl(f.file, F_SETFL, flags | O_DIRECT) != 0) return refused();
  alignas(kDiskAlignment) std::array<std::byte, 2 * kDiskAlignment> block;
  for (const int64_t alignment : {kStagingAlignment, kDiskAlignment}) {
    if (pread(f.file, block.data() + alignment % kDiskAlignment, kDiskAlignment, 0) < 0) continue;
    f.direct = true;
    f.memory_alignment = alignment;
    return "";
  }
  return refused();
}

Result<std::unique_ptr<Memory>> DiskBlocks::allocate(int64_t bytes, const std::string& folder) {
  HONE_BUG_IF(bytes <= 0 || folder.empty(), "{} bytes of disk in the folder '{}'", bytes, folder);
  const auto refused = [&](const char* what, int error) {
    return Error(err::kNoDisk, fmt::format("{}: {}", what, std::strerror(error))).at(folder);
  };
  std::error_code made;
  std::filesystem::create_directories(folder, made);
  if (made) return refused("the folder cannot be made", made.value());
  File f{bytes, open_unnamed(folder), folder};
  if (f.file < 0) return refused("no file can be made in the folder", errno);
  const int64_t in_blocks = in_disk_blocks(bytes);
  if (const int error = posix_fallocate(f.file, 0, in_blocks)) {
    close(f.file);
    return refused(fmt::format("the disk refuses a file of {} bytes", in_blocks).c_str(), error);
  }
  void* at = mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    close(f.file);
    return refused("the system refuses addresses for a file", error);
  }
  const std::string through_cache = make_direct(f);
  const std::lock_guard lock(mutex_);
  why_no_uring_ = hone::why_no_uring();
  how_ = through_cache.empty() ? "direct" : "through the page cache: " + through_cache;
  how_ += uses_uring()     ? ", io_uring"
          : options_.uring ? fmt::format(", threads: {}", why_no_uring_)
                           : ", threads";
  struct stat made_file {};
  fstat(f.file, &made_file);
  f.size = made_file.st_size;
  f.has_blocks = has_blocks_for(made_file, f.size);
  files_[static_cast<std::byte*>(at)] = std::move(f);
  any_ = true;
  return std::unique_ptr<Memory>(
      std::make_unique<Block>(*this, static_cast<std::byte*>(at), bytes));
}

std::string DiskBlocks::how() const {
  const std::lock_guard lock(mutex_);
  return how_;
}

DiskBlocks::Place DiskBlocks::place_of(const void* address) const {
  if (!any_) return {};
  const std::lock_guard lock(mutex_);
  const auto* a = static_cast<const std::byte*>(address);
  auto after = files_.upper_bound(a);
  if (after == files_.begin()) return {};
  const auto& [begin, f] = *std::prev(after);
  if (a >= begin + f.bytes) return {};
  return {f.file, a - begin, f.direct, f.memory_alignment};
}

bool DiskBlocks::fail(bool writes, int file, int64_t offset, int64_t bytes) {
  const int error = errno;
  const std::lock_guard lock(mutex_);
  if (failure_) return false;
  std::string folder;
  for (const auto& [at, f] : files_)
    if (f.file == file) folder = f.folder;
  failure_ =
      Error(err::kDiskFails, fmt::format("{} bytes cannot be {} at byte {} of the run's file: {}",
                                         bytes, writes ? "written" : "read", offset,
                                         error ? std::strerror(error) : "the file is shorter"))
          .at(folder);
  failed_ = true;
  return false;
}

Status DiskBlocks::check() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  for (const auto& [at, file] : files_) HONE_TRY(file.check_whole());
  return Ok{};
}

Status DiskBlocks::File::check_whole() const {
  const auto failed = [&](std::string what) {
    return Error(err::kDiskFails, std::move(what)).at(folder);
  };
  struct stat now {};
  if (fstat(file, &now) != 0)
    return failed(fmt::format("the run's file cannot be looked at: {}", std::strerror(errno)));
  if (now.st_size != size || (has_blocks && !has_blocks_for(now, size)))
    return failed(fmt::format("another program has cut the run's file of {} bytes short", size));
  // Only this call reports a page that the system failed to write back later. Asking about one byte
  // waits for at most one page.
  if (sync_file_range(file, 0, 1, SYNC_FILE_RANGE_WAIT_BEFORE) != 0 &&
      (errno == EIO || errno == ENOSPC))
    return failed(
        fmt::format("bytes of the run's file cannot be written: {}", std::strerror(errno)));
  return Ok{};
}

void DiskBlocks::drop_pages(const Place& place, int64_t bytes, bool written) {
  if (written)
    sync_file_range(
        place.file, place.offset, bytes,
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  posix_fadvise(place.file, place.offset, bytes, POSIX_FADV_DONTNEED);
}

std::byte* DiskBlocks::piece() {
  if (!piece_) piece_ = make_disk_buffer(kPiece);
  return piece_.get();
}

bool DiskBlocks::read_some(const Place& from, void* to, int64_t bytes) {
  const int64_t done = move_all(from.direct, bytes, [&](int64_t at) {
    return pread(from.file, static_cast<std::byte*>(to) + at, static_cast<size_t>(bytes - at),
                 from.offset + at);
  });
  return done >= bytes || fail(false, from.file, from.offset + done, bytes - done);
}

bool DiskBlocks::write_some(const Place& to, const void* from, int64_t bytes) {
  const int64_t done = move_all(to.direct, bytes, [&](int64_t at) {
    return pwrite(to.file, static_cast<const std::byte*>(from) + at,
                  static_cast<size_t>(bytes - at), to.offset + at);
  });
  return done >= bytes || fail(true, to.file, to.offset + done, bytes - done);
}

// Whole disk blocks go straight to their memory, others by way of a piece.
bool DiskBlocks::read(const Place& from, void* to, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    Place at = from;
    at.offset += done;
    std::byte* into = static_cast<std::byte*>(to) + done;
    int64_t count = std::min(bytes - done, kPiece);
    if (!at.direct) {
      if (!read_some(at, into, count)) return false;
      drop_pages(at, count, false);
    } else if (at.offset % kDiskAlignment == 0 && count >= kDiskAlignment && at.reaches(into)) {
      count = aligned_down(count);
      if (!read_some(at, into, count)) return false;
    } else {
      const std::lock_guard lock(piece_mutex_);
      const int64_t before = at.offset % kDiskAlignment;
      count = std::min(count, kPiece - before);
      at.offset -= before;
      // The file may end in its last block.
      const int64_t got = move_all(true, in_disk_blocks(before + count), [&](int64_t k) {
        return pread(at.file, piece() + k, static_cast<size_t>(in_disk_blocks(before + count) - k),
                     at.offset + k);
      });
      if (got < before + count) return fail(false, at.file, at.offset + got, before + count - got);
      std::memcpy(into, piece() + before, static_cast<size_t>(count));
    }
    done += count;
  }
  return true;
}

bool DiskBlocks::write(const Place& to, const void* from, int64_t bytes) {
  for (int64_t done = 0; done < bytes;) {
    Place at = to;
    at.offset += done;
    const std::byte* out = static_cast<const std::byte*>(from) + done;
    int64_t count = std::min(bytes - done, kPiece);
    if (!at.direct) {
      if (!write_some(at, out, count)) return false;
      drop_pages(at, count, true);
    } else if (at.offset % kDiskAlignment == 0 && count >= kDiskAlignment && at.reaches(out)) {
      count = aligned_down(count);
      if (!write_some(at, out, count)) return false;
    } else {
      const std::lock_guard lock(piece_mutex_);
      const int64_t before = at.offset % kDiskAlignment;
      count = std::min(count, kPiece - before);
      at.offset -= before;
      const int64_t all = in_disk_blocks(before + count);
      const bool partly = before + count != all || before != 0;
      if (partly && !read_some(at, piece(), all)) return false;
      std::memcpy(piece() + before, out, static_cast<size_t>(count));
      if (!write_some(at, piece(), all)) return false;
    }
    done += count;
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
    alignas(kDiskAlignment) std::array<std::byte, 65536> some;
    for (int64_t at = 0; at < c.bytes; at += std::ssize(some)) {
      const int64_t bytes = std::min<int64_t>(c.bytes - at, std::ssize(some));
      Place source = from, target = to;
      source.offset += at;
      target.offset += at;
      if (!read(source, some.data(), bytes) || !write(target, some.data(), bytes)) return;
    }
  }
}

void DiskBlocks::zero(void* to, int64_t bytes) {
  Place place = place_of(to);
  if (place.file < 0) {
    std::memset(to, 0, static_cast<size_t>(bytes));
    return;
  }
  alignas(kDiskAlignment) static constexpr std::array<std::byte, 65536> kZeros{};
  const int64_t end = place.offset + bytes;
  while (place.offset < end && !failed()) {
    const int64_t count = std::min<int64_t>(end - place.offset, std::ssize(kZeros));
    write(place, kZeros.data(), count);
    place.offset += count;
  }
}

}  // namespace hone
