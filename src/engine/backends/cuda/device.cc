#include "engine/backends/cuda/device.h"

#include <cstring>

#include "engine/backends/cuda/gpus.h"
#include "engine/backends/cuda/libraries/errors.h"
#include "engine/device/accesses.h"
#include "engine/device/errors.h"

namespace hone::cuda {
namespace {

CUdeviceptr address(const void* at) { return reinterpret_cast<CUdeviceptr>(at); }

// Memory of the device, or of the host in pages that stay where they are, so that copies need no
// other ones.
class DriverMemory : public Memory {
 public:
  DriverMemory(CudaDevice& device, Space space, void* at, int64_t bytes)
      : device_(device), space_(space) {
    data_ = static_cast<std::byte*>(at);
    bytes_ = bytes;
    device_.add_block(*this, space);
  }
  ~DriverMemory() override {
    device_.remove_block(*this);
    const Driver& d = device_.driver();
    if (space_ == Space::device)
      device_.keep(d.cuMemFree(address(data_)), "cuMemFree");
    else
      device_.keep(d.cuMemFreeHost(data_), "cuMemFreeHost");
  }
  int64_t resident_bytes() const override { return bytes_; }

 private:
  CudaDevice& device_;
  const Space space_;
};

}  // namespace

CudaQueue::CudaQueue(CudaDevice& device, CUstream stream)
    : device_(device), stream_(stream), disk_stream_(device.disk()) {
  for (CUevent& e : events_)
    device_.keep(device_.driver().cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

CUstream CudaQueue::stream() const {
  device_.make_current();
  return stream_;
}

CudaQueue::~CudaQueue() {
  const Driver& d = device_.driver();
  finish();
  piece_.reset();
  for (CUevent e : events_)
    if (e != nullptr) device_.keep(d.cuEventDestroy(e), "cuEventDestroy");
  device_.keep(d.cuStreamDestroy(stream_), "cuStreamDestroy");
}

void CudaQueue::copy(std::span<const Copy> copies) {
  for (const Copy& c : copies) {
    if (c.bytes == 0) continue;
    if (device_.is_on_disk(c.to) || device_.is_on_disk(c.from))
      copy_disk(c);
    else
      copy_memory(c.to, c.from, c.bytes);
  }
}

void CudaQueue::copy_memory(void* to, const void* from, int64_t bytes) {
  device_.keep(device_.driver().cuMemcpyAsync(address(to), address(from),
                                              static_cast<size_t>(bytes), stream_),
               "cuMemcpyAsync");
}

Status CudaQueue::prepare_disk() {
  if (piece_) return Ok{};
  piece_ = HONE_TRY(device_.allocate(Space::host, kPieceBytes + kDiskAlignment, ""));
  const auto at = reinterpret_cast<uintptr_t>(piece_->data());
  const auto unit = static_cast<uintptr_t>(kDiskAlignment);
  piece_begin_ = piece_->data() + (unit - at % unit) % unit;
  works_.resize(kDiskWorks);
  return Ok{};
}

void CudaQueue::copy_disk(const Copy& c) {
  const bool reads = device_.is_on_device(c.to), writes = device_.is_on_device(c.from);
  if (Status s = prepare_disk(); !s.ok()) return device_.keep(s.error());
  if (!reads && !writes) return give(c);
  auto* to = static_cast<std::byte*>(c.to);
  const auto* from = static_cast<const std::byte*>(c.from);
  for (int64_t at = 0; at < c.bytes; at += kPieceBytes) {
    const int64_t bytes = std::min(kPieceBytes, c.bytes - at);
    const bool whole = c.whole && at + bytes == c.bytes;
    if (reads) {
      give({piece_begin_, from + at, bytes, whole});
      copy_memory(to + at, piece_begin_, bytes);
    } else {
      copy_memory(piece_begin_, from + at, bytes);
      give({to + at, piece_begin_, bytes, whole});
    }
  }
}

void CudaQueue::give(const Copy& c) {
  DiskWork* work = nullptr;
  if (std::deque<DiskWork>* captured = device_.captured()) {
    work = &captured->emplace_back(DiskWork{this, c, false});
  } else {
    if (given_ - done_ >= kDiskWorks) finish();  // far ahead of the disk
    work = &works_[given_++ % kDiskWorks];
    *work = {this, c};
  }
  for (const Access& a : {Access{c.from, c.bytes, false}, Access{c.to, c.bytes, true}})
    if (a.at != nullptr && device_.is_pinned(a.at)) note_accesses({&a, 1});
  const auto call = [](void* w) {
    const auto& mine = *static_cast<const DiskWork*>(w);
    mine.queue->do_disk(mine);
  };
  device_.keep(device_.driver().cuLaunchHostFunc(stream_, call, work), "cuLaunchHostFunc");
}

void CudaQueue::do_disk(const DiskWork& work) {
  const Copy& c = work.copy;
  if (c.from == nullptr) {
    device_.disk().zero(c.to, c.bytes);
  } else if (disk_stream_.takes(c)) {
    disk_stream_.begin(c);
    while (!disk_stream_.empty()) disk_stream_.finish_some();
  } else {
    device_.disk().copy(c);
  }
  if (work.once) ++done_;
}

void CudaQueue::zero(void* to, int64_t bytes) {
  if (bytes == 0) return;
  if (device_.is_on_disk(to)) {
    if (Status s = prepare_disk(); !s.ok()) return device_.keep(s.error());
    return give({to, nullptr, bytes});
  }
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
  device_.keep(device_.driver().cuEventRecord(event_of(mark), stream_), "cuEventRecord");
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

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const Driver& driver, int ordinal, int threads,
                                                     bool has_host_lane) {
  CUdevice device = 0;
  HONE_TRY(cuda_status(driver, driver.cuDeviceGet(&device, ordinal),
                       fmt::format("cuDeviceGet of {}", ordinal)));
  auto opened = std::unique_ptr<CudaDevice>(new CudaDevice(driver, device, threads));
  HONE_TRY(cuda_status(driver, driver.cuDevicePrimaryCtxRetain(&opened->context_, device),
                       "cuDevicePrimaryCtxRetain"));
  HONE_TRY(cuda_status(driver, driver.cuCtxSetCurrent(opened->context_), "cuCtxSetCurrent"));
  HONE_TRY(opened->read_spec());
  if (has_host_lane) opened->spec_.host_lane = HostLane::apart;
  return opened;
}

CudaDevice::~CudaDevice() {
  for (auto& queue : queues_) queue.reset();
  if (context_ != nullptr) driver_.cuDevicePrimaryCtxRelease(device_);
}

Status CudaDevice::read_spec() {
  const Gpu g = HONE_TRY(gpu(driver_, device_));
  if (!g.is_usable())
    return Error(err::kOldGpu, fmt::format("{} has compute capability {}.{}, and {}.0 is needed",
                                           g.name, g.major, g.minor, Gpu::kOldestMajor))
        .todo("use the device cpu, or a GPU from V100 on; hone doctor lists what is here");
  // Memory that other processes hold is not available to this one.
  size_t free = 0, all = 0;
  HONE_TRY(cuda_status(driver_, driver().cuMemGetInfo(&free, &all), "cuMemGetInfo"));
  if (const DeviceSpec* sheet = known_gpu(g.name)) spec_ = *sheet;
  describe_gpu(spec_, g.isa());
  spec_.name = g.name;
  spec_.host_lane = HostLane::none;
  spec_.memory_bytes = static_cast<int64_t>(free);
  spec_.threads = pool_.size();
  return Ok{};
}

int64_t CudaDevice::taken_bytes() const {
  size_t free = 0, all = 0;
  if (driver().cuMemGetInfo(&free, &all) != CUDA_SUCCESS) return -1;
  return spec_.memory_bytes - static_cast<int64_t>(free);
}

Result<std::unique_ptr<Memory>> CudaDevice::allocate(Space space, int64_t bytes,
                                                     const std::string& folder) {
  const auto taken = [&](CUresult result, const char* what) {
    Status s = cuda_status(driver_, result, fmt::format("{} of {} bytes", what, bytes));
    return s.ok() ? std::move(s) : Status(Error(err::kNoMemory, s.error().what()));
  };
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  if (space == Space::device) {
    CUdeviceptr at = 0;
    HONE_TRY(taken(driver().cuMemAlloc(&at, size), "cuMemAlloc"));
    auto memory = std::make_unique<DriverMemory>(*this, space, reinterpret_cast<void*>(at), bytes);
    queue(Lane::compute).zero(memory->data(), bytes);
    queue(Lane::compute).finish();
    return std::unique_ptr<Memory>(std::move(memory));
  }
  if (space == Space::host) {
    void* at = nullptr;
    HONE_TRY(taken(driver().cuMemHostAlloc(&at, size, 0), "cuMemHostAlloc"));
    std::memset(at, 0, size);
    return std::unique_ptr<Memory>(std::make_unique<DriverMemory>(*this, space, at, bytes));
  }
  auto memory = HONE_TRY(disk_.allocate(bytes, folder));
  for (const Lane lane : {Lane::disk_read, Lane::disk_write})
    HONE_TRY(static_cast<CudaQueue&>(queue(lane)).prepare_disk());
  return memory;
}

Queue& CudaDevice::queue(Lane lane) {
  std::unique_ptr<CudaQueue>& queue = queues_[static_cast<size_t>(lane)];
  if (queue) return *queue;
  CUstream stream = nullptr;
  keep(driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  queue = std::make_unique<CudaQueue>(*this, stream);
  return *queue;
}

void CudaDevice::add_block(const Memory& block, Space space) {
  blocks_[block.data()] = {block.data() + block.bytes(), space};
}
void CudaDevice::remove_block(const Memory& block) { blocks_.erase(block.data()); }

std::optional<Space> CudaDevice::space_of(const void* at) const {
  const auto* byte = static_cast<const std::byte*>(at);
  const auto next = blocks_.upper_bound(byte);
  if (next == blocks_.begin()) return std::nullopt;
  const Block& block = std::prev(next)->second;
  return byte < block.end ? std::optional(block.space) : std::nullopt;
}

Status CudaDevice::begin_capture(std::deque<DiskWork>& works) {
  const CUstream stream = static_cast<CudaQueue&>(queue(Lane::compute)).stream();
  HONE_TRY(cuda_status(driver_,
                       driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                       "cuStreamBeginCapture"));
  captured_ = &works;
  return Ok{};
}

Result<CUgraph> CudaDevice::end_capture() {
  captured_ = nullptr;
  CUgraph graph = nullptr;
  const CUstream stream = static_cast<CudaQueue&>(queue(Lane::compute)).stream();
  HONE_TRY(cuda_status(driver_, driver().cuStreamEndCapture(stream, &graph), "cuStreamEndCapture"));
  return graph;
}

void CudaDevice::keep(CUresult result, std::string_view what) {
  if (result != CUDA_SUCCESS) keep(cuda_status(driver_, result, what).error());
}
void CudaDevice::keep(const Error& failure) {
  if (!failed_.exchange(true)) failure_ = failure;
}

Status CudaDevice::check() const {
  if (look_) look_();
  HONE_TRY(check_group());
  if (!failed_) return disk_.check();
  return Error(failure_->error_code(), failure_->what());
}

}  // namespace hone::cuda
