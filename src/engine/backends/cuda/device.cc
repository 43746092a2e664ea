#include "engine/backends/cuda/device.h"

#include <cstring>

#include "engine/device/errors.h"

namespace hone::cuda {
namespace {

constexpr int64_t kRuntimeBytes = int64_t{1} << 30;  // context, kernels and libraries on the device

CUdeviceptr address(const void* at) { return reinterpret_cast<CUdeviceptr>(at); }

class DeviceMemory : public Memory {
 public:
  DeviceMemory(CudaDevice& device, CUdeviceptr at, int64_t bytes) : device_(device) {
    data_ = reinterpret_cast<std::byte*>(at);
    bytes_ = bytes;
  }
  ~DeviceMemory() override {
    device_.keep(device_.driver().cuMemFree(address(data_)), "cuMemFree");
  }
  int64_t resident_bytes() const override { return bytes_; }

 private:
  CudaDevice& device_;
};

// Pages that stay where they are, so that copies need no other ones between.
class PinnedMemory : public Memory {
 public:
  PinnedMemory(CudaDevice& device, void* at, int64_t bytes) : device_(device) {
    data_ = static_cast<std::byte*>(at);
    bytes_ = bytes;
  }
  ~PinnedMemory() override { device_.keep(device_.driver().cuMemFreeHost(data_), "cuMemFreeHost"); }
  int64_t resident_bytes() const override { return bytes_; }

 private:
  CudaDevice& device_;
};

}  // namespace

CudaQueue::~CudaQueue() {
  const Driver& d = device_.driver();
  finish();
  for (CUevent e : events_)
    if (e != nullptr) device_.keep(d.cuEventDestroy(e), "cuEventDestroy");
  device_.keep(d.cuStreamDestroy(stream_), "cuStreamDestroy");
}

void CudaQueue::copy(std::span<const Copy> copies) {
  for (const Copy& c : copies)
    if (c.bytes > 0)
      device_.keep(device_.driver().cuMemcpyAsync(address(c.to), address(c.from),
                                                  static_cast<size_t>(c.bytes), stream_),
                   "cuMemcpyAsync");
}

void CudaQueue::zero(void* to, int64_t bytes) {
  if (bytes > 0)
    device_.keep(
        device_.driver().cuMemsetD8Async(address(to), 0, static_cast<size_t>(bytes), stream_),
        "cuMemsetD8Async");
}

void CudaQueue::run(const std::function<void()>& work) {
  const auto call = [](void* f) { (*static_cast<const std::function<void()>*>(f))(); };
  device_.keep(
      device_.driver().cuLaunchHostFunc(stream_, call, const_cast<std::function<void()>*>(&work)),
      "cuLaunchHostFunc");
}

uint64_t CudaQueue::record() {
  const uint64_t mark = ++marks_;
  CUevent& event = events_[mark % kEvents];
  if (event == nullptr)
    device_.keep(device_.driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  device_.keep(device_.driver().cuEventRecord(event, stream_), "cuEventRecord");
  return mark;
}

void CudaQueue::wait(Queue& other, uint64_t mark) {
  auto& queue = static_cast<CudaQueue&>(other);
  if (mark == 0 || &queue == this) return;
  device_.keep(device_.driver().cuStreamWaitEvent(stream_, queue.event_of(mark), 0),
               "cuStreamWaitEvent");
}

void CudaQueue::finish() {
  device_.keep(device_.driver().cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const Driver& driver, int ordinal,
                                                     int threads) {
  CUdevice device = 0;
  HONE_TRY(cuda_status(driver, driver.cuDeviceGet(&device, ordinal),
                       fmt::format("cuDeviceGet of {}", ordinal)));
  auto opened = std::unique_ptr<CudaDevice>(new CudaDevice(driver, device, threads));
  CUcontext context = nullptr;
  HONE_TRY(cuda_status(driver, driver.cuDevicePrimaryCtxRetain(&context, device),
                       "cuDevicePrimaryCtxRetain"));
  HONE_TRY(cuda_status(driver, driver.cuCtxSetCurrent(context), "cuCtxSetCurrent"));
  HONE_TRY(opened->read_spec());
  return opened;
}

CudaDevice::~CudaDevice() {
  for (auto& queue : queues_) queue.reset();
  driver_.cuDevicePrimaryCtxRelease(device_);
}

Status CudaDevice::read_spec() {
  char name[256] = {};
  size_t bytes = 0;
  int major = 0, minor = 0;
  HONE_TRY(
      cuda_status(driver_, driver_.cuDeviceGetName(name, sizeof name, device_), "cuDeviceGetName"));
  HONE_TRY(cuda_status(driver_, driver_.cuDeviceTotalMem(&bytes, device_), "cuDeviceTotalMem"));
  for (const auto& [attribute, value] :
       {std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor}})
    HONE_TRY(cuda_status(driver_, driver_.cuDeviceGetAttribute(value, attribute, device_),
                         "cuDeviceGetAttribute"));
  spec_.name = name;
  spec_.kernels = "cuda";
  spec_.memory_bytes = static_cast<int64_t>(bytes);
  spec_.own_memory = true;
  spec_.isa = fmt::format("sm_{}{}", major, minor);
  spec_.multiplies_bf16 = major >= 8;
  spec_.runtime_bytes = kRuntimeBytes;
  spec_.threads = pool_.size();
  return Ok{};
}

Result<std::unique_ptr<Memory>> CudaDevice::allocate(Space space, int64_t bytes,
                                                     const std::string&) {
  const auto taken = [&](CUresult result, const char* what) {
    Status s = cuda_status(driver_, result, fmt::format("{} of {} bytes", what, bytes));
    return s.ok() ? std::move(s) : Status(Error(err::kNoMemory, s.error().what()));
  };
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  if (space == Space::device) {
    CUdeviceptr at = 0;
    HONE_TRY(taken(driver_.cuMemAlloc(&at, size), "cuMemAlloc"));
    auto memory = std::make_unique<DeviceMemory>(*this, at, bytes);
    queue(Lane::compute).zero(memory->data(), bytes);
    queue(Lane::compute).finish();
    return std::unique_ptr<Memory>(std::move(memory));
  }
  if (space == Space::host) {
    void* at = nullptr;
    HONE_TRY(taken(driver_.cuMemHostAlloc(&at, size, 0), "cuMemHostAlloc"));
    std::memset(at, 0, size);
    return std::unique_ptr<Memory>(std::make_unique<PinnedMemory>(*this, at, bytes));
  }
  return Error(err::kNoDisk, "the CUDA backend does not offload to a disk yet")
      .todo("offload to cpu, or leave the flag out");
}

Queue& CudaDevice::queue(Lane lane) {
  std::unique_ptr<CudaQueue>& queue = queues_[static_cast<size_t>(lane)];
  if (queue) return *queue;
  HONE_BUG_IF(lane != Lane::compute && lane != Lane::load && lane != Lane::store,
              "a GPU has no lane {}", name_of(lane));
  CUstream stream = nullptr;
  keep(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  queue = std::make_unique<CudaQueue>(*this, stream);
  return *queue;
}

void CudaDevice::keep(CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS || failed_.exchange(true)) return;
  failure_ = cuda_status(driver_, result, what).error();
}

Status CudaDevice::check() const {
  if (!failed_) return Ok{};
  return Error(failure_->error_code(), failure_->what());
}

}  // namespace hone::cuda
