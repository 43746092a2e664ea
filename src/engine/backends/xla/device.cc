#include "engine/backends/xla/device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/device/errors.h"

namespace hone::xla {
namespace {

// Addresses without memory until they are written.
class ImageMemory : public Memory {
 public:
  static Result<std::unique_ptr<Memory>> reserve(int64_t bytes) {
    const int64_t whole = std::max<int64_t>(bytes, 1);
    void* at = mmap(nullptr, static_cast<size_t>(whole), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
      return Error(err::kNoMemory, fmt::format("the system refuses {} bytes of addresses: {}",
                                               bytes, std::strerror(errno)));
    return std::unique_ptr<Memory>(new ImageMemory(static_cast<std::byte*>(at), whole));
  }
  ~ImageMemory() override { munmap(data_, static_cast<size_t>(bytes_)); }
  ImageMemory(const ImageMemory&) = delete;

 private:
  ImageMemory(std::byte* at, int64_t bytes) {
    data_ = at;
    bytes_ = bytes;
  }
};

}  // namespace

// Does everything at once, on the thread that asks.
class XlaDevice::ImageQueue : public Queue {
 public:
  explicit ImageQueue(XlaDevice& device) : device_(device) {}
  void copy(std::span<const Copy> copies) override {
    for (const Copy& c : copies) {
      auto* from = static_cast<std::byte*>(const_cast<void*>(c.from));
      auto* to = static_cast<std::byte*>(c.to);
      prepare(from, c.bytes, false);
      prepare(to, c.bytes, true);
      std::memcpy(to, from, static_cast<size_t>(c.bytes));
    }
  }
  void zero(void* to, int64_t bytes) override {
    auto* at = static_cast<std::byte*>(to);
    prepare(at, bytes, true);
    std::memset(at, 0, static_cast<size_t>(bytes));
  }
  void run(const std::function<void()>& work) override { work(); }
  uint64_t record() override { return 0; }
  void wait(Queue&, uint64_t) override {}
  void finish() override {}

 private:
  void prepare(std::byte* at, int64_t bytes, bool writes) {
    for (Residents* r : device_.residents_) {
      device_.fail(r->bring_back(at, bytes));
      if (writes) r->forget(at, bytes);
    }
  }
  XlaDevice& device_;
};

XlaDevice::XlaDevice(std::shared_ptr<const Client> client, int ordinal,
                     std::shared_ptr<Together> together, std::unique_ptr<Device> host,
                     DeviceSpec spec)
    : client_(std::move(client)),
      ordinal_(ordinal),
      together_(std::move(together)),
      host_(std::move(host)),
      spec_(std::move(spec)),
      queue_(std::make_unique<ImageQueue>(*this)) {}
XlaDevice::~XlaDevice() {
  if (together_) together_->leave(ordinal_);
}

Result<std::unique_ptr<Memory>> XlaDevice::allocate(Space space, int64_t bytes,
                                                    const std::string& folder) {
  if (space == Space::device) return ImageMemory::reserve(bytes);
  if (space == Space::disk)
    return Error(err::kDeclined, fmt::format("{} does not keep states on disk", spec_.name))
        .todo("keep states in memory, or use another device");
  return host_->allocate(space, bytes, folder);
}

Queue& XlaDevice::queue(Lane) { return *queue_; }

Status XlaDevice::check() const { return check_group(); }

void XlaDevice::fail(const Status& status) {
  if (status.ok()) return;
  keep_failure(status.error());
  if (together_) together_->leave(ordinal_);
}

void XlaDevice::remove(Residents* residents) {
  residents_.erase(std::remove(residents_.begin(), residents_.end(), residents), residents_.end());
}

void release_pages(std::byte* at, int64_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(at) + page - 1) / page * page,
                  end = (reinterpret_cast<uintptr_t>(at) + static_cast<uintptr_t>(bytes)) / page *
                        page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace hone::xla
