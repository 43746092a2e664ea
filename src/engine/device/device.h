// The contract of a device: its facts (DeviceSpec), its memory, and queues that copy bytes and run kernels.
//   Device& d = backend.device();
//   std::unique_ptr<Memory> m = HONE_TRY(d.allocate(Space::device, bytes));
//   Queue& q = d.queue(Lane::compute);
//   q.copy(m->data(), host_bytes, bytes);
//   q.finish();
// Host code may read and write device memory by its addresses only if host_memory() is true; otherwise it uses a queue.
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
  // Bytes of the block that take memory now; on the host only pages that were touched count. 0: the block is on disk.
  virtual int64_t resident_bytes() const { return 0; }

 protected:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

// One copy between two addresses, each in any space.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  int64_t bytes = 0;
  // True, for a copy to disk: nothing else uses the rest of the last disk block (kDiskAlignment) that it writes, so the
  // rest may be overwritten.
  bool whole = false;
};

// Runs work in the order in which it is given. A call may return before its work is done.
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
  // Calls `work` on the host. The object `work` must exist until that call has returned.
  virtual void run(const std::function<void()>& work) = 0;
  // Returns a mark; the queue reaches it when all work given so far is done.
  virtual uint64_t record() = 0;
  // Work given to this queue from now on starts after `other`, a queue of the same device, has reached `mark`.
  virtual void wait(Queue& other, uint64_t mark) = 0;
  // Waits until all given work is done.
  virtual void finish() = 0;
};

class Group;  // engine/comm/group.h

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceSpec& spec() const = 0;
  // Allocates a block of zeros. `folder`: the folder for a block on disk; ignored for other spaces. H1321: there is not
  // enough memory. H1322: the file on disk cannot be made, such as for lack of space.
  virtual Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                                   const std::string& folder = "") = 0;
  virtual Queue& queue(Lane lane) = 0;
  // Returns the first failure of queued work. H1323: a disk failed. Errors of Group::exchange(): a collective failed.
  // After a failure the contents of all blocks are undefined.
  virtual Status check() const { return check_group(); }
  // Sets the group that collectives exchange messages with; it must outlive the device. Null: this process is the only
  // rank. Call it before programs are compiled.
  virtual void set_group(Group* group) { group_ = group; }
  Group* group() const { return group_; }
  // Called by a collective that fails; the collectives after it fail too. The first failure is kept for check().
  void keep_failure(Error failure);
  // The failure that keep_failure() has kept, or Ok.
  Status check_group() const;
  // The collective that runs now: its op and scope, such as "all_reduce gradients.wte.weight"; "": none. Any thread may
  // call it.
  std::string collective() const;
  // Called at the start of a collective with its name, which must exist until the end, and at its end with null.
  void begin_collective(const std::string* name);
  // Bytes of the device's memory that were taken since the device was opened, including those for contexts and
  // libraries and those of other processes; -1: the driver has no such figure.
  virtual int64_t taken_bytes() const { return -1; }
  // A text for people: the way blocks on disk are read and written, such as "direct, io_uring", and the reason if it is
  // not the fastest. "": there are no blocks on disk.
  virtual std::string disk_access() const { return ""; }
  // Threads for work of the host while the device computes. The CPU's kernels run on them too.
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
