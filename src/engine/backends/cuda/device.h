// A GPU as a Device: memory on the GPU, and a CUDA stream for each lane.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <optional>

#include "engine/backends/cuda/libraries/driver.h"
#include "engine/device/device.h"
#include "engine/device/disk_stream.h"

namespace hone::cuda {

class CudaDevice;
class CudaQueue;

// Work on a disk block that a host function of a stream does.
struct DiskWork {
  CudaQueue* queue = nullptr;
  Copy copy = {};    // the copy to do; `from` null: fill `to` with zeros
  bool once = true;  // false: the work belongs to a CUDA graph, which repeats it
};

// A CUDA stream. Work is asynchronous; the device keeps the driver's first error. Blocks on disk are
// read and written by host functions that the stream calls. A copy between disk and device goes
// through a buffer in pinned memory.
class CudaQueue : public Queue {
 public:
  CudaQueue(CudaDevice& device, CUstream stream);
  ~CudaQueue() override;
  void copy(std::span<const Copy> copies) override;
  void zero(void* to, int64_t bytes) override;
  void run(const std::function<void()>& work) override;
  uint64_t record() override;
  void wait(Queue& other, uint64_t mark) override;
  void finish() override;
  // Allocates everything for copies from and to a disk, so that the first one allocates nothing.
  Status prepare_disk();
  CUstream stream() const;
  CudaDevice& device() const { return device_; }

 private:
  // Number of CUDA events. The marks that record() returns use the events in turn. A wait for an old mark may wait for
  // a later mark of the same event; the later mark is reached after the old one.
  static constexpr uint64_t kEvents = 256;
  CUevent event_of(uint64_t mark) const { return events_[mark % kEvents]; }
  void copy_memory(void* to, const void* from, int64_t bytes);
  void copy_disk(const Copy& c);

  static constexpr uint64_t kDiskWorks = 1 << 14;
  static constexpr int64_t kPieceBytes = 8 << 20;
  void give(const Copy& c);
  void do_disk(const DiskWork& work);  // called by the stream's host function

  CudaDevice& device_;
  CUstream stream_;
  std::array<CUevent, kEvents> events_{};
  uint64_t marks_ = 0;
  std::unique_ptr<Memory> piece_;     // the buffer in pinned memory
  std::byte* piece_begin_ = nullptr;  // its first address that is aligned for the disk
  std::vector<DiskWork> works_;       // a ring buffer
  uint64_t given_ = 0;                // works that were put into the ring
  std::atomic<uint64_t> done_ = 0;    // works of the ring that are done
  DiskStream disk_stream_;
};

class CudaDevice : public Device {
 public:
  // Retains the primary context of GPU number `ordinal`. threads: size of pool(); 0: all that this process may use.
  // has_host_lane: nodes may run on the CPU in parallel with nodes on the GPU. Errors: H1342 the driver fails, H1344
  // the GPU is too old.
  static Result<std::unique_ptr<CudaDevice>> open(const Driver& driver, int ordinal, int threads,
                                                  bool has_host_lane);
  ~CudaDevice() override;
  const DeviceSpec& spec() const override { return spec_; }
  // Errors: H1321 not enough memory, H1322 not enough disk.
  Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                           const std::string& folder) override;
  Queue& queue(Lane lane) override;
  Status check() const override;
  ThreadPool& pool() override { return pool_; }
  bool host_memory() const override { return false; }
  int64_t taken_bytes() const override;
  std::string disk_access() const override { return disk_.how(); }

  // The driver's functions. Makes the device's context current on the calling thread first, so any thread may use them.
  const Driver& driver() const {
    make_current();
    return driver_;
  }
  void make_current() const { driver_.cuCtxSetCurrent(context_); }
  DiskBlocks& disk() { return disk_; }
  // Whether an address is in a block on disk, in a block on the GPU, or in a block of pinned host memory.
  bool is_on_disk(const void* at) const { return disk_.place_of(at).file >= 0; }
  bool is_on_device(const void* at) const { return space_of(at) == Space::device; }
  bool is_pinned(const void* at) const { return space_of(at) == Space::host; }
  void add_block(const Memory& block, Space space);
  void remove_block(const Memory& block);

  // Records the queues' work into a CUDA graph from now on, instead of running it. The graph starts on the compute
  // queue. Work on disk blocks is put into `works`, which must live as long as the graph. Error H1342: the driver
  // fails.
  Status begin_capture(std::deque<DiskWork>& works);
  // Ends the recording. The caller destroys the graph. Error H1342: the work cannot be recorded as a graph.
  Result<CUgraph> end_capture();
  // The argument `works` of begin_capture() while the work is recorded; null: nothing is recorded.
  std::deque<DiskWork>* captured() const { return captured_; }

  // Sets a function that check() calls first; null removes it. RankComm sets one that looks for failures of messages
  // between ranks, and keeps them for check().
  void set_look(std::function<void()> look) { look_ = std::move(look); }
  // Keeps the first failure for check(). A result CUDA_SUCCESS is not a failure; `what`: the driver's function.
  void keep(CUresult result, std::string_view what);
  void keep(const Error& failure);

 private:
  CudaDevice(const Driver& driver, CUdevice device, int threads)
      : driver_(driver),
        device_(device),
        pool_(threads > 0 ? threads : ThreadPool::default_size()) {}
  Status read_spec();
  std::optional<Space> space_of(const void* at) const;

  const Driver driver_;
  const CUdevice device_;
  CUcontext context_ = nullptr;  // the primary context; null until it is retained
  DeviceSpec spec_;
  ThreadPool pool_;
  DiskBlocks disk_;
  struct Block {
    const std::byte* end = nullptr;
    Space space = Space::host;
  };
  std::map<const std::byte*, Block> blocks_;  // by first address
  std::array<std::unique_ptr<CudaQueue>, kLaneCount> queues_;
  std::deque<DiskWork>* captured_ = nullptr;
  std::function<void()> look_;
  std::atomic<bool> failed_ = false;
  std::optional<Error> failure_;
};

}  // namespace hone::cuda
