// Memory of the space `disk`: files of a fixed size, with addresses that only queues can use.
// Files are read and written past the page cache (O_DIRECT) if the file system allows it, so
// offloaded values take no memory a second time. Otherwise pages are written back and dropped after
// each read or write.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "engine/device/device.h"
#include "engine/device/disk_io.h"

namespace hone {

// Features that may be used; tests turn some off.
struct DiskOptions {
  bool direct = true, uring = true;
};

class DiskBlocks {
 public:
  explicit DiskBlocks(const DiskOptions& options = {}) : options_(options) {}

  // Creates a file of zeros in the folder, which is made if it is missing. All bytes are allocated
  // now. The file has no name, so nothing is left when the process ends, in whatever way. H1322.
  Result<std::unique_ptr<Memory>> allocate(int64_t bytes, const std::string& folder);

  // Each side of a copy is in a block or in memory of this process. After a failure, kept for
  // check(), the blocks are not touched again.
  void copy(const Copy& c);
  void zero(void* to, int64_t bytes);

  // H1323: the first read or write that failed, or a file that another program has truncated: its
  // lost bytes read as zeros.
  Status check() const;

  // The way files are read and written, and the reason if it is not the best: "direct, io_uring".
  // For the file that was allocated last; "" without files.
  std::string how() const;

  // For code that reads and writes the files itself:
  struct Place {
    int file = -1;  // -1: in memory
    int64_t offset = 0;
    bool direct = false;           // offsets and sizes are multiples of kDiskAlignment,
    int64_t memory_alignment = 1;  // addresses of this
    // Whether the disk can read into that memory, and write from it.
    bool reaches(const void* memory) const {
      return reinterpret_cast<uintptr_t>(memory) % static_cast<uintptr_t>(memory_alignment) == 0;
    }
  };
  Place place_of(const void* address) const;
  bool failed() const { return failed_; }
  // Keeps errno, 0 for the end of the file; false.
  bool fail(bool writes, int file, int64_t offset, int64_t bytes);
  // Call after bytes went through the page cache.
  static void drop_pages(const Place& place, int64_t bytes, bool written);
  bool uses_uring() const { return options_.uring && why_no_uring_.empty(); }

 private:
  class Block;
  struct File {
    int64_t bytes = 0;
    int file = -1;
    std::string folder;
    bool direct = false;
    int64_t memory_alignment = 1;
    int64_t size = 0;         // of the file
    bool has_blocks = false;  // allocated for all its bytes, by the file system's own count
    Status check_whole() const;
  };
  static constexpr int64_t kPiece = int64_t{1} << 20;
  std::string make_direct(File& file) const;  // "", or the reason why not
  bool read(const Place& from, void* to, int64_t bytes);
  bool write(const Place& to, const void* from, int64_t bytes);
  bool read_some(const Place& from, void* to, int64_t bytes);
  bool write_some(const Place& to, const void* from, int64_t bytes);
  std::byte* piece();

  const DiskOptions options_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, File> files_;
  std::atomic<bool> any_ = false;  // of these: without one, copies take no lock
  std::atomic<bool> failed_ = false;
  std::optional<Error> failure_;
  std::string how_, why_no_uring_;
  std::mutex piece_mutex_;
  DiskBuffer piece_;  // of whole disk blocks
};

}  // namespace hone
