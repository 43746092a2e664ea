// The device of a PJRT client. Its arrays have no addresses, but hone's plan gives states places
// in one arena: the arena is a range of host addresses whose bytes are an image of the states. A
// program's executable keeps arrays on the device beside it (Residents); copies of the queue bring
// the image up to date first, so that the range is one memory for everyone. Pages of the image that
// nobody wrote take no memory.
#pragma once

#include <vector>

#include "engine/backends/xla/client.h"
#include "engine/backends/xla/together.h"
#include "engine/device/device.h"

namespace hone::xla {

// Arrays on the device that hold bytes of the device's arenas.
class Residents {
 public:
  virtual ~Residents() = default;
  // Writes arrays that are newer than the image into the image, if they hold some of the bytes.
  virtual Status bring_back(std::byte* at, int64_t bytes) = 0;
  // The image of these bytes is about to change: drops the arrays that hold some of them.
  virtual void forget(std::byte* at, int64_t bytes) = 0;
};

class XlaDevice : public Device {
 public:
  // `host` does the work of the host: its threads, its memory. `name`: "xla_cpu", "tpu".
  // `ordinal`: of the client's device; the rank, with other ranks.
  XlaDevice(std::shared_ptr<const Client> client, int ordinal, std::shared_ptr<Together> together,
            std::unique_ptr<Device> host, DeviceSpec spec);
  ~XlaDevice() override;
  const DeviceSpec& spec() const override { return spec_; }
  Result<std::unique_ptr<Memory>> allocate(Space space, int64_t bytes,
                                           const std::string& folder = "") override;
  Queue& queue(Lane lane) override;
  ThreadPool& pool() override { return host_->pool(); }
  bool host_memory() const override { return false; }
  Status check() const override;

  const Client& client() const { return *client_; }
  int ordinal() const { return ordinal_; }
  Together* together() const { return together_.get(); }  // null: one rank
  void add(Residents* residents) { residents_.push_back(residents); }
  void remove(Residents* residents);
  // Keeps the first failure of a transfer or a program.
  void fail(const Status& status);

 private:
  class ImageQueue;
  std::shared_ptr<const Client> client_;
  int ordinal_;
  std::shared_ptr<Together> together_;
  std::unique_ptr<Device> host_;
  DeviceSpec spec_;
  std::vector<Residents*> residents_;
  std::unique_ptr<ImageQueue> queue_;
};

// Gives the pages inside a range back to the system; they read as zeros.
void release_pages(std::byte* at, int64_t bytes);

}  // namespace hone::xla
