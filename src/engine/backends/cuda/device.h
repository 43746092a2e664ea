// A GPU of the CUDA driver: memory of its own, a stream for each lane.
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

// Work of a host function for a queue: a copy, or zeros, of bytes on disk.
struct DiskWork {
  CudaQueue* queue = nullptr;
  Copy copy = {};
  bool once = true;  // not in a graph, which repeats it
};

// A CUDA stream. Work is asynchronous; the device keeps the driver's first error. Host functions
// that the stream calls read and write blocks on disk, through a piece of pinned memory if the
// other side is on the device.
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
  // Number of events. Old marks share an event with later ones; waiting for a later one is enough.
  static constexpr uint64_t kEvents = 256;
  CUevent event_of(uint64_t mark) const { return events_[mark % kEvents]; }
  void copy_memory(void* to, const void* from, int64_t bytes);
  void copy_disk(const Copy& c);

  static constexpr uint64_t kDiskWorks = 1 << 14;
  static constexpr int64_t kPieceBytes = 8 << 20;
  void give(const Copy& c);
  void do_disk(const DiskWork& work);  // by the stream

  CudaDevice& device_;
  CUstream stream_;
  std::array<CUevent, kEvents> events_{};
  uint64_t marks_ = 0;
  std::unique_ptr<Memory> piece_;
  std::byte* piece_begin_ = nullptr;  // aligned for the disk
  std::vector<DiskWork> works_;       // a ring
  uint64_t given_ = 0;
  std::atomic<uint64_t> done_ = 0;
  DiskStream disk_stream_;
};

class CudaDevice : public Device {
 public:
  // Retains the driver's primary context of a device. threads: of pool(); has_host_lane: kernels of
  // the host run in parallel with the device's. Errors H1342, H1344.
  static Result<std::unique_ptr<CudaDevice>> open(const Driver& driver, int ordinal, int threads,
                                                  bool has_host_lane);
  ~CudaDevice() override;
  const DeviceSpec& spec() const override { return spec_; }
  // Errors H1321, H1322.
  Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                           const std::string& folder) override;
  Queue& queue(Lane lane) override;
  Status check() const override;
  ThreadPool& pool() override { return pool_; }
  bool host_memory() const override { return false; }
  int64_t taken_bytes() const override;
  std::string disk_access() const override { return disk_.how(); }

  // Sets the context for a call from this thread, which may differ from the last one: a server's
  // thread, or the one that ends it.
  const Driver& driver() const {
    make_current();
    return driver_;
  }
  void make_current() const { driver_.cuCtxSetCurrent(context_); }
  DiskBlocks& disk() { return disk_; }
  bool is_on_disk(const void* at) const { return disk_.place_of(at).file >= 0; }
  // Whether it is in memory of the driver, on the device or pinned.
  bool is_on_device(const void* at) const { return space_of(at) == Space::device; }
  bool is_pinned(const void* at) const { return space_of(at) == Space::host; }
  void add_block(const Memory& block, Space space);
  void remove_block(const Memory& block);

  // Records work of queues from now on, for a graph that starts on the compute queue; `works` lives
  // as long as the graph.
  Status begin_capture(std::deque<DiskWork>& works);
  Result<CUgraph> end_capture();
  std::deque<DiskWork>* captured() const { return captured_; }

  // Called by check() and by nothing else, until it is set to null; keeps failures of messages between ranks.
  void set_look(std::function<void()> look) { look_ = std::move(look); }
  // Keeps the first failure for check().
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
  CUcontext context_ = nullptr;  // the primary one, once it is retained
  DeviceSpec spec_;
  ThreadPool pool_;
  DiskBlocks disk_;
  struct Block {
    const std::byte* end = nullptr;
    Space space = Space::host;
  };
  std::map<const std::byte*, Block> blocks_;  // by their first addresses
  std::array<std::unique_ptr<CudaQueue>, kLaneCount> queues_;
  std::deque<DiskWork>* captured_ = nullptr;
  std::function<void()> look_;
  std::atomic<bool> failed_ = false;
  std::optional<Error> failure_;
};

}  // namespace hone::cuda
