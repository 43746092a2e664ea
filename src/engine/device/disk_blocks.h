// Memory of the space `disk`: files of a fixed size, known to queues by addresses that nothing else
// can read or write.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "engine/device/device.h"

namespace hone {

class DiskBlocks {
 public:
  // A file of zeros in the folder, which is made where it is not there. All its bytes are taken now,
  // and it has no name: nothing is left of it when the process ends, however it ends. H1322.
  Result<std::unique_ptr<Memory>> allocate(int64_t bytes, const std::string& folder);

  // Each side of a copy is in a block or in memory of this process. What the system refuses is kept
  // for check(), and the blocks are not touched from then on.
  void copy(const Copy& c);
  void zero(void* to, int64_t bytes);

  // H1323: the first read or write that failed.
  Status check() const;

 private:
  class Block;
  struct Place {
    int file = -1;  // -1: in memory
    int64_t offset = 0;
  };
  Place place_of(const void* address) const;
  bool read(const Place& from, void* to, int64_t bytes);
  bool write(const Place& to, const void* from, int64_t bytes);
  bool fail(const char* what, const Place& place, int64_t bytes);  // false
  bool failed() const;

  struct File {
    int64_t bytes = 0;
    int file = -1;
    std::string folder;
  };
  mutable std::mutex mutex_;
  std::map<const std::byte*, File> files_;
  std::atomic<bool> any_ = false;  // of these: without one, copies take no lock
  std::optional<Error> failure_;
};

}  // namespace hone
