// A device: its facts (DeviceSpec), its memory, and queues that move bytes and run kernels.
//   Device& d = backend.device();
//   std::unique_ptr<Memory> m = HONE_TRY(d.allocate(Space::device, bytes));
//   Queue& q = d.queue(Lane::compute);
//   q.copy(m->data(), host_bytes, bytes);
//   q.finish();
// Host code may read and write device memory only if host_memory() is true; otherwise it uses a
// queue.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/core/error.h"
#include "base/core/threads.h"
#include "engine/device/spec.h"
#include "engine/graph/place.h"

namespace hone {

// A block of memory in one space, freed with the object. Only queues can use the addresses of a
// block on disk.
class Memory {
 public:
  virtual ~Memory() = default;
  std::byte* data() const { return data_; }  // aligned to 64 bytes
  int64_t bytes() const { return bytes_; }
  // Bytes of the block that are in this machine's memory now, in whole pages; 0: it is on disk.
  virtual int64_t resident_bytes() const { return 0; }

 protected:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

// One copy. Its two addresses may be in any spaces.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  int64_t bytes = 0;
  // If one side is on disk: nothing else uses the rest of its last disk block (kDiskAlignment), so
  // whole disk blocks may be written.
  bool whole = false;
};

// Runs the work that it is given, in that order: at once or later.
class Queue {
 public:
  virtual ~Queue() = default;
  // The copies of one call touch different bytes and may be done in any order.
  virtual void copy(std::span<const Copy> copies) = 0;
  void copy(void* to, const void* from, int64_t bytes) {
    const Copy one{to, from, bytes};
    copy({&one, 1});
  }
  virtual void zero(void* to, int64_t bytes) = 0;
  // Calls a function of the host, which must outlive the call.
  virtual void run(const std::function<void()>& work) = 0;
  // Returns a mark, which is reached when all work given so far is done.
  virtual uint64_t record() = 0;
  // Work given from now on starts after `other` has reached `mark`.
  virtual void wait(Queue& other, uint64_t mark) = 0;
  // Returns when all given work is done.
  virtual void finish() = 0;
};

class Group;  // engine/comm/group.h

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceSpec& spec() const = 0;
  // Allocates a block of zeros; `folder`: place of a block on disk. Errors: H1321 not enough
  // memory, H1322 not enough disk.
  virtual Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                                   const std::string& folder = "") = 0;
  virtual Queue& queue(Lane lane) = 0;
  // The first failure of queued work; H1323: a disk failed; errors of the group's exchanges. After a
  // failure the contents of the blocks are undefined.
  virtual Status check() const { return check_group(); }
  // The ranks that its collectives work with, which outlive it; null: this process is alone. Set
  // before programs are compiled.
  virtual void set_group(Group* group) { group_ = group; }
  Group* group() const { return group_; }
  // Keeps the first failure of a collective; the collectives after it fail too.
  void keep_failure(Error failure);
  Status check_group() const;
  // The collective that is being done: its op and scope, such as "all_reduce gradients.wte.weight";
  // "": none. Any thread. begin_collective: null ends it.
  std::string collective() const;
  void begin_collective(const std::string* name);
  // Bytes of the device's memory that its driver has given away since the device was opened, with contexts and
  // libraries, and to other processes too; -1: there is no such figure.
  virtual int64_t taken_bytes() const { return -1; }
  // The way blocks on disk are read and written, and the reason if it is not the best; "" without
  // blocks.
  virtual std::string disk_access() const { return ""; }
  // Threads for work of the host while the device computes. The CPU's kernels run on the same ones.
  virtual ThreadPool& pool() = 0;
  // Whether host code may read and write the space `device` by its addresses.
  virtual bool host_memory() const = 0;

 private:
  Group* group_ = nullptr;
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
  const std::string* collective_ = nullptr;
};

}  // namespace hone
