// Memory of the space `disk`. A block is a file of fixed size. Its addresses are reserved but not readable: only queues
// can use them. If the file system allows it, files bypass the page cache (O_DIRECT), so offloaded values use no
// memory. Otherwise pages of the cache are written back and dropped after each read or write.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "engine/device/device.h"
#include "engine/device/disk_io.h"

namespace hone {

// Whether O_DIRECT and io_uring may be used; tests turn them off.
struct DiskOptions {
  bool direct = true, uring = true;
};

class DiskBlocks {
 public:
  explicit DiskBlocks(const DiskOptions& options = {}) : options_(options) {}

  // Creates a file of zeros in the folder, which is created if it is missing. All its disk space is reserved now. The
  // file has no name, so the system frees it when the process ends, even if it crashes. H1322: the folder or
  // the file cannot be made, or the disk is full. The block must be destroyed before this object.
  Result<std::unique_ptr<Memory>> allocate(int64_t bytes, const std::string& folder);

  // Copies bytes; each side may be in a block or in memory of this process. After a failure of a read or write, which
  // check() returns, blocks are no longer read or written.
  void copy(const Copy& c);
  void zero(void* to, int64_t bytes);

  // H1323: a read or write failed (the first failure is returned), or another program has truncated a file, whose lost
  // bytes would read as zeros.
  Status check() const;

  // A text for people: the way the file that was allocated last is read and written, such as "direct, io_uring", and
  // the reason if it is not the fastest. "": no file was allocated.
  std::string how() const;

  // The functions below are for code that reads and writes the files itself.
  struct Place {
    int file = -1;       // file descriptor; -1: the address is not in a block
    int64_t offset = 0;  // bytes from the start of the file
    // O_DIRECT is on: requests must have offsets and sizes that are multiples of kDiskAlignment, and memory addresses
    // that are multiples of memory_alignment.
    bool direct = false;
    int64_t memory_alignment = 1;
    // Whether the memory is aligned so that the disk can read into it and write from it directly.
    bool reaches(const void* memory) const {
      return reinterpret_cast<uintptr_t>(memory) % static_cast<uintptr_t>(memory_alignment) == 0;
    }
  };
  Place place_of(const void* address) const;
  bool failed() const { return failed_; }
  // Keeps a failure for check() unless there is one already. Its reason is the current errno; errno 0 means that the
  // file ended early. Returns false. `bytes`: the number of bytes that were not read or written, from `offset` on.
  bool fail(bool writes, int file, int64_t offset, int64_t bytes);
  // Removes pages from the page cache. Call it after each read or write at a place that is not direct; `written`: it
  // was a write.
  static void drop_pages(const Place& place, int64_t bytes, bool written);
  bool uses_uring() const { return options_.uring && why_no_uring_.empty(); }

 private:
  class Block;
  struct File {
    int64_t bytes = 0;  // of the block
    int file = -1;
    std::string folder;
    bool direct = false;
    int64_t memory_alignment = 1;
    int64_t size = 0;            // bytes of the file when it was made
    bool has_blocks = false;     // the file system then counted disk blocks for all of these bytes
    Status check_whole() const;  // H1323: the file was truncated
  };
  static constexpr int64_t kPiece = int64_t{1} << 20;
  std::string make_direct(File& file) const;  // turns O_DIRECT on; returns "" or the reason why not
  bool read(const Place& from, void* to, int64_t bytes);
  bool write(const Place& to, const void* from, int64_t bytes);
  bool read_some(const Place& from, void* to, int64_t bytes);
  bool write_some(const Place& to, const void* from, int64_t bytes);
  std::byte* piece();

  const DiskOptions options_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, File> files_;  // by the block's first address
  std::atomic<bool> any_ = false;  // whether there are files; without files copies take no lock
  std::atomic<bool> failed_ = false;
  std::optional<Error> failure_;
  std::string how_, why_no_uring_;
  std::mutex piece_mutex_;
  DiskBuffer piece_;  // kPiece bytes, for reads and writes that are not whole disk blocks
};

}  // namespace hone
