// A GPU of the CUDA driver: memory of its own, a stream for each lane.
#pragma once

#include <array>
#include <atomic>

#include "engine/backends/cuda/driver/driver.h"
#include "engine/device/device.h"

namespace hone::cuda {

class CudaDevice;

// A stream. What it is given is begun later; the first error of the driver is kept by the device.
class CudaQueue : public Queue {
 public:
  CudaQueue(CudaDevice& device, CUstream stream) : device_(device), stream_(stream) {}
  ~CudaQueue() override;
  void copy(std::span<const Copy> copies) override;
  void zero(void* to, int64_t bytes) override;
  void run(const std::function<void()>& work) override;
  uint64_t record() override;
  void wait(Queue& other, uint64_t mark) override;
  void finish() override;
  CUstream stream() const { return stream_; }
  CudaDevice& device() const { return device_; }

 private:
  // A mark's event; marks of long ago share one with later ones, for which a wait is long enough.
  static constexpr uint64_t kEvents = 1024;
  CUevent event_of(uint64_t mark) const { return events_[mark % kEvents]; }

  CudaDevice& device_;
  CUstream stream_;
  std::array<CUevent, kEvents> events_{};  // made when they are first needed
  uint64_t marks_ = 0;
};

class CudaDevice : public Device {
 public:
  // Takes the driver's primary context of a device. threads: of pool(). Error H1342.
  static Result<std::unique_ptr<CudaDevice>> open(const Driver& driver, int ordinal, int threads);
  ~CudaDevice() override;
  const DeviceSpec& spec() const override { return spec_; }
  // Error H1321; of a block on disk H1322, as there are none yet.
  Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                           const std::string& folder) override;
  Queue& queue(Lane lane) override;
  Status check() const override;
  ThreadPool& pool() override { return pool_; }
  bool host_memory() const override { return false; }

  const Driver& driver() const { return driver_; }
  // Keeps the first failure for check().
  void keep(CUresult result, std::string_view what);

 private:
  CudaDevice(const Driver& driver, CUdevice device, int threads)
      : driver_(driver),
        device_(device),
        pool_(threads > 0 ? threads : ThreadPool::default_size()) {}
  Status read_spec();

  const Driver driver_;
  const CUdevice device_;
  DeviceSpec spec_;
  ThreadPool pool_;
  std::array<std::unique_ptr<CudaQueue>, kLaneCount> queues_;
  std::atomic<bool> failed_ = false;
  std::optional<Error> failure_;
};

}  // namespace hone::cuda
